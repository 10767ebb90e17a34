"""The rules of a site at work: one judge for each rule on each channel, whatever it judges."""

from collections.abc import Mapping
from datetime import tzinfo

from gateway.model import Instant
from gateway.rules.accounts import Accounts
from gateway.rules.average import AverageRule
from gateway.rules.excursion import excursion_rule
from gateway.rules.judge import Judge
from gateway.rules.limit import LimitRule
from gateway.rules.run import ExceedanceRule
from gateway.rules.share import ShareRule
from gateway.rules.slug import SlugRule
from gateway.rules.volume import VolumeRule
from gateway.site import Rule, Site

__all__ = ["hashes_of", "judges_of"]

_RUNS: Mapping[str, type[ExceedanceRule]] = {"limit": LimitRule, "slug": SlugRule}


def judges_of(site: Site, accounts: Accounts, zone: tzinfo, start: Instant) -> list[Judge]:
    """Every rule that channels feed, in the order of the site; those of the laboratory are judged by `Laboratory`.

    Raises ValueError for a rule that cannot be judged as it is written: the configuration should have said so.
    """
    return [_judge(rule, site, accounts, zone, start) for rule in site.rules if not rule.laboratory]


def hashes_of(rule: Rule, site: Site) -> Mapping[str, str]:
    """What names configuration, pack and baseline in a finding."""
    hashes = {"config": site.config_hash, "pack": rule.pack_hash}
    if rule.baseline is not None:
        hashes["baseline"] = rule.baseline.hash
    return hashes


def _judge(rule: Rule, site: Site, accounts: Accounts, zone: tzinfo, start: Instant) -> Judge:
    channel, hashes = site.channels[rule.channel], hashes_of(rule, site)
    if rule.kind in _RUNS:
        run = _RUNS[rule.kind](rule, channel, hashes, start)
        baselines = accounts.baselines.get(rule.channel)
        if rule.factor is not None and rule.baseline is not None and baselines is not None:
            run.follow(baselines, start)
        flow = accounts.flow_of(rule.channel)
        if flow is not None:
            run.measure(flow.volume, flow.valid_us)
        return run
    if rule.kind == "excursion":
        return excursion_rule(rule, channel, hashes, start, zone)
    ledger = accounts.ledgers[rule.channel]
    if rule.kind == "average":
        return AverageRule(rule, channel, hashes, start, ledger, zone)
    if rule.kind == "volume":
        return VolumeRule(rule, channel, hashes, start, ledger, zone)
    if rule.kind == "share":
        return ShareRule(rule, channel, hashes, start, ledger, zone, site.town_flow)
    raise ValueError(f"rule {rule.id}: nobody here judges the kind {rule.kind!r}")
