"""An adapter that gives back what is sent, and one that does not: told apart for every opening of the port."""

import asyncio

from tests.support.scripted_line import TIMEOUT_S, serial_line


def test_the_echo_is_learnt_anew_of_another_adapter() -> None:
    """An adapter with an echo is changed for one without, and back: the device alone confirms a write."""

    async def scenario() -> None:
        on = bytes.fromhex("11 05 00 AC FF 00 4E 8B")
        look, state = bytes.fromhex("11 01 00 AC 00 01 3F 7B"), bytes.fromhex("11 01 01 00 55 48")
        async with serial_line() as (peer, line):
            for echo in (b"", look, b"", look):
                await line.open()
                writing = asyncio.create_task(line.command(0x11, on[1:-2], TIMEOUT_S))
                await peer.receive(len(look))
                await peer.send(echo + state)
                await peer.receive(len(on))
                await peer.send(on if echo else b"")
                await asyncio.sleep(0.02)
                assert not writing.done()  # an echo alone is no confirmation
                await peer.send(on)
                await writing

    asyncio.run(scenario())


def test_a_spoilt_echo_is_not_taken_for_none() -> None:
    """Noise hits the echo of a read, not its answer: the image of the next write is still an echo first."""

    async def scenario() -> None:
        on = bytes.fromhex("11 05 00 AC FF 00 4E 8B")
        look, state = bytes.fromhex("11 01 00 AC 00 01 3F 7B"), bytes.fromhex("11 01 01 00 55 48")
        async with serial_line() as (peer, line):
            for echo in (look, b"\0" + look[1:]):
                reading = asyncio.create_task(line.read(0x11, 1, 0xAC, 1, TIMEOUT_S))
                await peer.receive(len(look))
                await peer.send(echo + state)
                assert await reading == (0,)
            writing = asyncio.create_task(line.command(0x11, on[1:-2], TIMEOUT_S))
            await peer.receive(len(on))
            await peer.send(on)
            await asyncio.sleep(0.02)
            assert not writing.done()
            await peer.send(on)
            await writing

    asyncio.run(scenario())
