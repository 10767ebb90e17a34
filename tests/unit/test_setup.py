"""`setup`: a first site file that has passed `check`, from a terminal, a pipe or a file; nothing answered is lost."""

import io
import os
import signal
import subprocess
import sys
import tomllib
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gateway import config
from gateway.drivers.live import live_values
from gateway.drivers.profiles import load as load_profile
from gateway.drivers.target import Setting, bus_of
from gateway.errors import InputError
from gateway.setup import read_answers, run_setup
from gateway.setup_checks import measured, packs, profile_named, profiles_like, time_zone
from gateway.setup_file import BaselineDraft, BusDraft, ChannelDraft, ContactDraft, DeviceDraft, SiteDraft, site_text
from gateway.setup_questions import Questions, yes_or_no
from tests.conftest import ROOT
from tests.support.set_line import holding, served

SITE: Mapping[str, Any] = {
    "id": "mh3", "name": "Manhole 3", "discharger": "Acme Dairy", "time_zone": "America/New_York",
    "ordinances": ["little-valley"],
}  # fmt: skip
LINE: Mapping[str, Any] = {
    "port": "/dev/serial/by-path/x",
    "name": "rs485",
    "baud": 19200,
    "parity": "N",
    "stop_bits": 2,
}
PROBE: Mapping[str, Any] = {"profile": "hamilton", "unit": 1, "name": "ph", "points": ["pH"]}


class Lines(io.StringIO):
    """Lines as a person types them at a terminal; Ctrl-C where the text says so."""

    def isatty(self) -> bool:
        """A terminal."""
        return True

    def readline(self, size: int | None = -1, /) -> str:
        """The next line, or the interrupt."""
        line = super().readline()
        if line == "^C\n":
            raise KeyboardInterrupt
        return line


def answered(**more: Any) -> dict[str, Any]:
    """A site of one pH probe, with more or other answers."""
    return {"site": dict(SITE), "bus": {"1": dict(LINE)}, "device": {"1": dict(PROBE)}} | more


def setup(
    folder: Path,
    answers: Mapping[str, Any],
    typed: io.StringIO | None = None,
    *,
    force: bool = False,
    offline: bool = True,
) -> tuple[int, str, str]:
    """Exit status, stdout and stderr of a setup in this folder; without `typed` it asks nothing."""
    out, err = io.StringIO(), io.StringIO()
    source = typed if typed is not None else io.StringIO()
    status = run_setup(
        folder / "site.toml", answers, source, out, err, force=force, silent=typed is None, offline=offline
    )
    return status, out.getvalue(), err.getvalue()


def test_answers_make_a_file_that_check_passes(tmp_path: Path) -> None:
    """A file of answers and the defaults are enough; the file says why each part is there; the next steps follow."""
    status, out, err = setup(tmp_path, answered(contact={"name": "J. Super", "phone": "+15185550123"}))
    path = tmp_path / "site.toml"
    assert (status, out) == (0, f"{path}\n")
    loaded = config.read(path)
    assert loaded.site is not None
    assert set(loaded.site.channels) == {"ph"}
    assert loaded.site.buses["rs485"].baud == 19200
    assert [contact.id for contact in loaded.site.contacts] == ["superintendent"]
    assert not [str(w) for w in loaded.warnings if "duty" in w.path or "contacts" in w.path]
    text = path.read_text(encoding="utf-8")
    assert "# whose limits are judged" in text
    assert f"read {path}" in err
    assert sorted(p.name for p in tmp_path.iterdir()) == ["site.toml"]


def test_a_pipe_answers_line_by_line(tmp_path: Path) -> None:
    """What no file answers is read from a pipe in the order of the questions; its end means the defaults."""
    typed = io.StringIO("mh4\nManhole 4\nAcme Dairy\nAmerica/New_York\nlittle-valley\n")
    status, _, _ = setup(tmp_path, {"bus": {"1": dict(LINE)}, "device": {"1": dict(PROBE)}}, typed)
    assert status == 0
    loaded = config.read(tmp_path / "site.toml")
    assert loaded.site is not None
    assert (loaded.site.id, loaded.site.name) == ("mh4", "Manhole 4")


def test_a_person_is_asked_again(tmp_path: Path) -> None:
    """A wrong answer at a terminal is told and asked again; at last the right one counts."""
    typed = Lines("Manhole Three\nmh3\nManhole 3\nAcme\nMoscow/Idaho\nAmerica/Boise\nlittle-vally\nlittle-valley\n")
    status, _, err = setup(tmp_path, {"bus": {"1": dict(LINE)}, "device": {"1": dict(PROBE)}}, typed)
    assert status == 0
    for told in ("lower-case letters", "no time zone", "did you mean 'little-valley'"):
        assert told in err
    loaded = config.read(tmp_path / "site.toml")
    assert loaded.site is not None
    assert (loaded.site.id, loaded.site.time_zone) == ("mh3", "America/Boise")


def test_ctrl_c_keeps_every_answer_and_goes_on_from_there(tmp_path: Path) -> None:
    """Interrupted after four answers: 130, the four in a file, and from it the same site is made."""
    typed = Lines("mh3\nManhole 3\nAcme Dairy\nAmerica/New_York\n^C\n")
    status, out, err = setup(tmp_path, {}, typed)
    assert (status, out) == (130, "")
    assert not (tmp_path / "site.toml").exists()
    kept = tmp_path / "site.toml.answers"
    assert str(kept) in err
    known = read_answers(kept)
    assert known["site"] == {
        "id": "mh3", "name": "Manhole 3", "discharger": "Acme Dairy", "time_zone": "America/New_York",
    }  # fmt: skip
    rest = {"bus": {"1": dict(LINE)}, "device": {"1": dict(PROBE)}}
    known["site"]["ordinances"] = "little-valley"
    status, _, _ = setup(tmp_path, known | rest)
    assert status == 0
    assert not kept.exists()


def test_an_interrupt_while_it_waits_for_an_answer_keeps_the_others(tmp_path: Path) -> None:
    """The command itself, waiting at a question: SIGINT ends it with 130, and what was typed is in the file."""
    command = [sys.executable, "-m", "gateway", "setup", "site.toml", "--offline"]
    process = subprocess.Popen(
        command,
        cwd=tmp_path,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        env=os.environ | {"PYTHONPATH": str(ROOT)},
    )
    assert process.stdin is not None
    assert process.stderr is not None
    process.stdin.write(b"mh3\nManhole 3\n")
    process.stdin.flush()
    told = b""
    while b"Who discharges there" not in told:
        told += process.stderr.read1(4096)
    process.send_signal(signal.SIGINT)
    process.communicate(timeout=60)
    assert process.returncode == 130
    assert read_answers(tmp_path / "site.toml.answers")["site"] == {"id": "mh3", "name": "Manhole 3"}


def test_what_check_refuses_is_not_written(tmp_path: Path) -> None:
    """A span the wrong way round: 78, every mistake told, the draft and the answers kept, and no site file."""
    wrong = answered(channel={"ph": {"pH": {"suspect_low": "9 pH", "suspect_high": "6 pH"}}})
    status, out, err = setup(tmp_path, wrong)
    assert (status, out) == (78, "")
    assert "low is not below high" in err
    assert sorted(p.name for p in tmp_path.iterdir()) == ["site.toml.answers", "site.toml.draft"]
    again = read_answers(tmp_path / "site.toml.answers")
    again["channel"]["ph"]["pH"] |= {"suspect_low": "6 pH", "suspect_high": "9 pH"}
    assert setup(tmp_path, again)[0] == 0


def test_a_file_that_is_there_is_not_written_over(tmp_path: Path) -> None:
    """Without --force the file keeps its content, and nothing is asked; with it the new one takes its place."""
    path = tmp_path / "site.toml"
    path.write_text("precious = true\n", encoding="utf-8")
    with pytest.raises(InputError, match="--force"):
        setup(tmp_path, answered())
    with pytest.raises(InputError, match="no such folder"):
        setup(tmp_path / "nowhere", answered())
    assert path.read_text(encoding="utf-8") == "precious = true\n"
    assert setup(tmp_path, answered(), force=True)[0] == 0
    assert config.read(path).site is not None


@pytest.mark.parametrize(
    ("sentence", "changes", "key"),
    [
        ("A unit address that is none.", {"device": {"1": dict(PROBE) | {"unit": 300}}}, "device.1.unit"),
        ("A point the profile does not have.", {"device": {"1": dict(PROBE) | {"points": "pHH"}}}, "device.1.points"),
        ("A profile nobody ships.", {"device": {"1": dict(PROBE) | {"profile": "acme"}}}, "device.1.profile"),
        ("A port that is none.", {"bus": {"1": dict(LINE) | {"port": "host:x"}}}, "bus.1.port"),
        ("A pack nobody ships.", {"site": dict(SITE) | {"ordinances": "atlantis"}}, "site.ordinances"),
        ("No answer and no default.", {"site": {"id": "mh3"}}, "site.name"),
        ("An arrow key in a name.", {"site": dict(SITE) | {"name": "Man\x1b[Dhole"}}, "site.name"),
    ],
)
def test_a_wrong_answer_of_a_file_is_named(sentence: str, changes: dict[str, Any], key: str, tmp_path: Path) -> None:
    """The key of the answer that is wrong is in the message; what was right before it is kept."""
    with pytest.raises(InputError, match=key.replace(".", r"\.")):
        setup(tmp_path, answered(**changes))
    assert not (tmp_path / "site.toml").exists(), sentence
    assert (tmp_path / "site.toml.answers").exists()


def test_only_what_a_rule_asks_for_needs_a_baseline(tmp_path: Path) -> None:
    """A flow under an ordinance of slugs is asked for what is normal; a pH is not."""
    meter = {"profile": "mag 6000", "unit": 2, "name": "meter", "points": "volume_flow"}
    answers = answered(
        device={"1": dict(PROBE), "2": meter},
        channel={"meter": {"volume_flow": {"unit": "gpm"}}},
        baseline={"flow": {"value": 10, "approved_by": "J. Super", "approved_on": "2026-01-05"}},
    )
    status, _, _ = setup(tmp_path, answers)
    assert status == 0
    loaded = config.read(tmp_path / "site.toml")
    assert loaded.site is not None
    assert {name: (b.value, b.unit) for name, b in loaded.site.baselines.items()} == {"flow": (10.0, "gpm")}


def test_a_transmitter_of_4_to_20_milliamperes_gets_its_scale(tmp_path: Path) -> None:
    """What a module sends as mA becomes a level by the two ends of its range."""
    module = {"profile": "waveshare analog", "unit": 1, "name": "loop", "points": "AI1", "set": True}
    channel = {"loop": {"AI1": {"quantity": "level", "unit": "ft", "at_4_mA": 0, "at_20_mA": "10 ft"}}}
    status, _, err = setup(tmp_path, answered(device={"1": module}, channel=channel))
    assert status == 0, err
    loaded = config.read(tmp_path / "site.toml")
    assert loaded.site is not None
    assert loaded.site.channels["level"].conversion(12.0) == pytest.approx(5.0)
    assert loaded.warnings == tuple(w for w in loaded.warnings if "leaves the works" not in w.text)


def test_variants_and_templates_are_asked_about(tmp_path: Path) -> None:
    """A profile of several models asks which; one with open facts must have had them settled."""
    ponsel = {"profile": "ponsel", "variant": "PHEHT", "unit": 20, "name": "ponsel", "points": "pH"}
    assert setup(tmp_path, answered(device={"1": ponsel}))[0] == 0
    template = {"profile": "flxa402", "unit": 1, "name": "yokogawa"}
    status, _, err = setup(tmp_path, answered(device={"1": template}), force=True)
    assert status == 78
    assert "template" in err


def test_live_values_stand_beside_the_channels(tmp_path: Path) -> None:
    """With the port open each chosen point's value is written down as it was: 0.960701 bar is 3F75 F07B (Keller)."""
    keller = {"profile": "keller", "unit": 3, "name": "depth", "points": "P1"}
    words = dict.fromkeys(range(2, 10), 0) | dict.fromkeys(range(16, 48), 0) | {2: 0x3F75, 3: 0xF07B}
    with served({3: holding(words)}) as path:
        answers = answered(bus={"1": {"port": path, "name": "rs485", "baud": 9600}}, device={"1": keller})
        answers["channel"] = {"depth": {"P1": {"quantity": "pressure", "unit": "mbar"}}}
        status, _, err = setup(tmp_path, answers, offline=False)
    assert status == 0, err
    assert "# showed 0.960701 bar when this was written" in (tmp_path / "site.toml").read_text(encoding="utf-8")


def test_points_are_shown_as_they_are_or_with_what_is_wrong() -> None:
    """A value with its unit, a NaN as no number, and a register the device does not have: each point by itself."""
    words = {2: 0x3F75, 3: 0xF07B, 4: 0x7FC0, 5: 0x0000}
    with served({3: holding(words)}) as path:
        told = live_values(bus_of(path, Setting(9600, "N", 1)), 3, load_profile("keller-series30"))
    assert str(told["P1"]) == "0.960701 bar"
    assert str(told["P2"]) == "no value: not a number"
    assert str(told["TOB1"]) == "no value: the device has no such register"


def test_a_line_of_another_kind_is_answered_beforehand(tmp_path: Path) -> None:
    """An instrument that speaks Modbus ASCII alone needs its kind of line, and setup writes it."""
    isco = {"profile": "isco", "unit": 2, "name": "isco", "points": "level", "confirmed": True}
    lines = {"1": dict(LINE) | {"kind": "modbus-ascii"}}
    assert setup(tmp_path, answered(bus=lines, device={"1": isco}))[0] == 0
    loaded = config.read(tmp_path / "site.toml")
    assert loaded.site is not None
    assert loaded.site.buses["rs485"].kind == "modbus-ascii"


@pytest.mark.parametrize(("text", "name"), [("hamilton", "hamilton-ph-arc"), ("MAG 6000", "siemens-mag6000")])
def test_a_part_of_a_name_is_enough(text: str, name: str) -> None:
    """A fragment of id or model that only one profile has chooses it."""
    assert profile_named(text) == name


@pytest.mark.parametrize(
    ("text", "told"), [("endress", "several profiles fit"), ("zzz", "no profile fits"), ("", "no")]
)
def test_a_fragment_that_decides_nothing_lists_what_there_is(text: str, told: str) -> None:
    """Several or none: the profiles are listed, and none is taken."""
    with pytest.raises(ValueError, match=told):
        profile_named(text)
    assert len(profiles_like("endress")) >= 3


def test_a_bare_number_is_in_the_unit_that_was_asked_for() -> None:
    """`2` for a flow in gpm is 2 gpm; a pressure is none."""
    assert measured("gpm")("2") == "2 gpm"
    assert measured("gpm")("0.1 L/s") == "0.1 L/s"
    with pytest.raises(ValueError, match="bar"):
        measured("gpm")("2 bar")
    assert packs("none") == ()
    with pytest.raises(ValueError, match="time zone"):
        time_zone("../etc/passwd")
    assert [yes_or_no(text) for text in ("y", "No", "")] == [True, False, False]


def test_answers_come_back_as_they_were_typed() -> None:
    """Whatever was typed, the kept file gives it again under its key."""
    ask = Questions({}, Lines('a "quoted" name\\\nÅngström\n'), io.StringIO())
    ask.ask("site.name", "?", str)
    ask.ask("channel.ph probe.x", "?", str)
    again = tomllib.loads(ask.as_toml())
    assert again["site"]["name"] == 'a "quoted" name\\'
    assert again["channel"]["ph probe"]["x"] == "Ångström"


def _texts() -> st.SearchStrategy[str]:
    return st.text(st.characters(exclude_categories=("C", "Z")), min_size=1, max_size=20)


@given(_texts(), _texts(), _texts())
def test_no_name_breaks_the_file(name: str, discharger: str, person: str) -> None:
    """Quotes, backslashes, hashes and brackets in names are data of the file and never its grammar."""
    text = site_text(_draft(name, discharger, person), file="site.toml", made="written")
    content = tomllib.loads(text)
    assert content["site"]["name"] == name
    assert content["site"]["discharger"] == discharger
    assert content["contacts"]["superintendent"]["name"] == person
    assert content["baselines"]["ph"]["approved_by"] == person


def _draft(name: str, discharger: str, person: str) -> SiteDraft:
    return SiteDraft(
        "mh3", name, discharger, "UTC", ("little-valley",),
        (BusDraft("rs485", "modbus-rtu", "/dev/x"),),
        (DeviceDraft("ph", "rs485", 1, "hamilton-ph-arc", "pH Arc"),),
        (ChannelDraft("ph", "ph", "pH", "pH", "pH", "15 s"),),
        baselines=(BaselineDraft("ph", "7 pH", person, "2026-01-05"),),
        contact=ContactDraft("superintendent", person),
    )  # fmt: skip


@pytest.fixture(autouse=True)
def in_an_empty_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Nothing is written but beside the site file."""
    monkeypatch.chdir(tmp_path)
