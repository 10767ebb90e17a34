"""Orders on record: each is written down before it is done, and what became of it after. Pure.

The durable state `order:KEY` says that an order was given and nobody knows yet what became of it. After a restart such
an order is never repeated: a second pulse would be a second sample.
"""

from collections.abc import Mapping
from typing import Any

from gateway.model import Instant, Note, Order, Resume
from gateway.outputs.wired import Carried, Result
from gateway.signals.watch import Said

__all__ = ["KEY", "interrupted", "note_carried", "note_orders"]

KEY = "order:"


def note_orders(said: Said) -> None:
    """Write down the orders of this step that are not written down yet."""
    for order in said.orders:
        key = KEY + order.key
        if key not in said.state:
            said.state[key] = _stored(order)
            body = {"output": order.output, "action": order.action, "why": order.why, "key": order.key}
            said.notes.append(Note("order", order.at, {**body, "expires_utc_us": order.expires.utc_us}))


def note_carried(carried: Carried, said: Said) -> None:
    """Write down what became of an order, unless another note says it."""
    if carried.noted:
        return
    order = carried.order
    said.state[KEY + order.key] = None
    body = {"output": order.output, "action": order.action, "key": order.key, "result": str(carried.result)}
    said.notes.append(Note("order_done", carried.at, {**body, "why": carried.why, "recorded_first": carried.recorded}))


def interrupted(key: str, value: Mapping[str, Any], resume: Resume) -> Carried:
    """The order behind a key that was under way when the last process ended. ValueError, KeyError, TypeError: none."""
    at, expires = (Instant(*value[name]) for name in ("at", "expires"))
    order = Order(value["output"], value["action"], at, expires, value["why"], key.removeprefix(KEY))
    why = "the gateway ended before it knew whether it was done; not repeated"
    return Carried(order, Result.INTERRUPTED, resume.now, why)


def _stored(order: Order) -> dict[str, Any]:
    return {
        "output": order.output,
        "action": order.action,
        "why": order.why,
        "at": [order.at.utc_us, order.at.mono_us, order.at.synced],
        "expires": [order.expires.utc_us, order.expires.mono_us, order.expires.synced],
    }
