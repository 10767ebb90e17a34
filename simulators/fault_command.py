"""`simulate faults`: a proxy between a gateway and its devices that makes the line fail, on a script or at random.

Between a gateway and Modbus TCP:   simulate faults --to 192.168.1.40:502 --fault 'answer every 5: delay 2s'
Between a gateway and a serial line: simulate faults --port /dev/ttyUSB0 --baud 9600 --seed 42
"""

import argparse
import asyncio
import signal
import sys
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TextIO

from gateway.errors import InputError
from simulators.fault_proxy import SerialProxy, TcpProxy
from simulators.fault_script import NOT_ON_SERIAL, NOT_ON_TCP, Action, Fault, parse, random_faults
from simulators.faults import Script
from simulators.framing import FRAMINGS

__all__ = ["main"]

_ONE_IN = 10  # random: about one frame in so many is befallen


def main(argv: Sequence[str]) -> int:
    """Run the proxy until it is stopped; 1 when the serial port vanished. InputError for what cannot be done."""
    arguments = _parser().parse_args(argv)
    if (arguments.to is None) == (arguments.port is None):
        raise InputError("say where the devices are: --to HOST:PORT or --port /dev/...")
    framing = arguments.framing or ("tcp" if arguments.to else "rtu")
    if arguments.port and framing == "tcp":
        raise InputError("--framing tcp: on a serial line frames are rtu or ascii")
    faults = _faults(arguments, framing)
    _check(faults, arguments.port is not None, framing)
    out: TextIO = sys.stdout
    for fault in faults:
        print(f"# {fault}", file=out)
    script = Script(faults, _shown(out) if arguments.show else None)
    return asyncio.run(_keep(arguments, framing, script, out))


async def _keep(arguments: argparse.Namespace, framing: str, script: Script, out: TextIO) -> int:
    proxy: TcpProxy | SerialProxy
    stopped = asyncio.Event()
    gone = asyncio.Event()
    if arguments.to:
        proxy = TcpProxy(FRAMINGS[framing], script, arguments.to, host=arguments.listen[0], port=arguments.listen[1])
    else:
        proxy = SerialProxy(
            FRAMINGS[framing],
            script,
            arguments.port,
            baud=arguments.baud,
            parity=arguments.parity,
            stop_bits=arguments.stop_bits,
            link=arguments.link,
        )
        gone = proxy.gone
    for name in (signal.SIGINT, signal.SIGTERM):
        asyncio.get_running_loop().add_signal_handler(name, stopped.set)
    try:
        if isinstance(proxy, TcpProxy):
            await proxy.start()
            print(f'# point the gateway here:\nhost = "{proxy.host}"\ntcp_port = {proxy.port}', file=out, flush=True)
        else:
            proxy.start()
            print(f'# point the gateway here:\nport = "{arguments.link or proxy.path}"', file=out, flush=True)
    except (OSError, ValueError) as error:
        raise InputError(f"cannot open the line: {error}") from error
    waiting = [asyncio.create_task(event.wait()) for event in (stopped, gone)]
    try:
        await asyncio.wait(waiting, return_when=asyncio.FIRST_COMPLETED)
    finally:
        for task in waiting:
            task.cancel()
        await asyncio.wait(waiting)
        if isinstance(proxy, TcpProxy):
            await proxy.stop()
        else:
            proxy.stop()
    told = ", ".join(f"{count} x {action}" for action, count in sorted(script.applied.items())) or "no fault"
    print(f"# {script.frames['request']} requests, {script.frames['answer']} answers; {told}", file=out)
    if gone.is_set():
        print(f"{arguments.port} went away", file=sys.stderr)
    return int(gone.is_set())


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="manhole-gateway simulate faults",
        description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("--to", type=_address, metavar="HOST:PORT", help="the devices, on Modbus TCP")
    parser.add_argument("--listen", type=_address, default=("127.0.0.1", 0), metavar="HOST:PORT", help="for --to")
    parser.add_argument("--port", metavar="/dev/...", help="the devices, on a serial port")
    parser.add_argument("--baud", type=int, default=9600)
    parser.add_argument("--parity", choices=("N", "E", "O"), default="N")
    parser.add_argument("--stop-bits", type=int, choices=(1, 2), default=1)
    parser.add_argument("--link", type=Path, metavar="PATH", help="a name for the gateway's side that stays the same")
    parser.add_argument("--framing", choices=tuple(FRAMINGS), help="default: tcp for --to, rtu for --port")
    parser.add_argument("--script", type=Path, metavar="FILE", help="faults, one a line")
    parser.add_argument("--fault", action="append", default=[], metavar="'answer 3: drop'", help="one fault; repeat it")
    parser.add_argument("--seed", type=int, help="faults at random; the same seed gives the same ones")
    parser.add_argument(
        "--frames", type=int, default=200, help="how long the random faults go on (default: 200 frames)"
    )
    parser.add_argument("--show", action="store_true", help="print every frame and what befell it")
    return parser


def _address(text: str) -> tuple[str, int]:
    host, colon, port = text.rpartition(":")
    if not colon or not port.isdecimal() or int(port) > 0xFFFF:
        raise argparse.ArgumentTypeError(f"{text!r} is not HOST:PORT")
    return host.strip("[]"), int(port)


def _faults(arguments: argparse.Namespace, framing: str) -> tuple[Fault, ...]:
    faults = parse(arguments.fault, "--fault")
    if arguments.script is not None:
        try:
            lines = arguments.script.read_text(encoding="utf-8").splitlines()
        except (OSError, UnicodeDecodeError) as error:
            raise InputError(f"{arguments.script}: {error}") from error
        faults += parse(lines, str(arguments.script))
    if arguments.seed is not None:
        if arguments.frames < _ONE_IN:
            raise InputError(f"--frames {arguments.frames}: at least {_ONE_IN}")
        most = arguments.frames // _ONE_IN
        faults += random_faults(arguments.seed, framing, frames=arguments.frames, most=most, longest_us=3_000_000)
    return faults


def _check(faults: Sequence[Fault], serial: bool, framing: str) -> None:
    impossible = NOT_ON_SERIAL if serial else NOT_ON_TCP
    if not serial and framing != "tcp":  # serial frames over TCP: no transactions, and what a line does to bits
        impossible = frozenset({Action.TRANSACTION})
    wrong = [fault for fault in faults if fault.action in impossible]
    if wrong:
        where = "a serial line" if serial else "TCP"
        raise InputError("\n".join(f"{fault}: there is no such fault on {where}" for fault in wrong))


def _shown(out: TextIO) -> Callable[[bool, bytes, Sequence[Fault]], None]:
    def show(answer: bool, frame: bytes, faults: Sequence[Fault]) -> None:
        befell = f"   # {'; '.join(map(str, faults))}" if faults else ""
        print(f"{'<<' if answer else '>>'} {frame.hex(' ')}{befell}", file=out, flush=True)

    return show
