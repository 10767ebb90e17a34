"""Device profiles: shipped ones agree with the documents, and a mistake in one is named with file, line and key."""

from dataclasses import replace
from pathlib import Path

import pytest

from gateway.drivers.plan import plan
from gateway.drivers.points import read_point
from gateway.drivers.profile import Limits, Span
from gateway.drivers.profiles import load, parse
from gateway.errors import ConfigError


def test_the_ph_sensor_is_asked_for_whole_blocks() -> None:
    """Every register of a point lies in its block of ten, so nothing else is ever requested."""
    profile = load("hamilton-ph-arc")
    for point, start in ((profile.points["pH"], 2089), (profile.points["temperature"], 2409)):
        assert {point.span_of(r) for r in point.registers()} == {Span(3, start, 10, whole=True)}


def test_serial_defaults_are_given_only_where_documented() -> None:
    """The analyser has selectable settings and no documented default; the flow meter has one."""
    assert load("eh-liquiline-cm44x").transport.baud is None
    assert load("tuf-2000m").transport.baud == 9600


def test_a_template_point_repeats_with_its_own_strides() -> None:
    """The eighth input of the current module has its value 7 and its mode register 7 further on."""
    point = load("waveshare-ai8").points["AI8"]
    assert point.address == 7
    assert point.unit_register is not None
    assert point.unit_register.register.address == 0x1007


def test_a_site_overrides_any_key() -> None:
    """Byte order, limits and one key of one point can be changed without copying the file."""
    profile = load(
        "keller-series30",
        {"order": "CDAB", "limits": {"max_registers": 80}, "points": {"P1": {"sentinels": [-1]}}},
    )
    assert profile.points["P1"].register.order == "CDAB"
    assert profile.points["P1"].sentinels == (-1.0,)
    assert profile.points["P1"].address == 2
    assert profile.limits == Limits(max_registers=80)


def test_an_address_offset_moves_everything() -> None:
    """A device whose documents count from 1 where the profile counts from 0 is one override away."""
    profile = load("hamilton-ph-arc", {"address_offset": -1})
    point = profile.points["pH"]
    assert [r.address for r in point.registers()] == [2090, 2088, 2092]
    assert point.block == (2088, 10)


SOUND = """\
id = "mine"
model = "My instrument"
[points.level]
function = 3
address = 10
type = "u16"
unit = "mm"
"""


def test_a_users_own_file(tmp_path: Path) -> None:
    """A path to a file of the user's is as good as a shipped name, also relative to the site file."""
    (tmp_path / "mine.toml").write_text(SOUND)
    assert load(str(tmp_path / "mine.toml")) == load("mine.toml", beside=tmp_path)
    assert load("mine.toml", beside=tmp_path).points["level"].unit == "mm"


@pytest.mark.parametrize(
    ("old", "new", "line", "path", "said"),
    [
        ('type = "u16"', 'type = "u17"', 6, "points.level.type", "unknown type 'u17'"),
        ("function = 3", "function = 6", 4, "points.level.function", "3 (holding registers) or 4"),
        ("address = 10", "address = 65536", 5, "points.level.address", "65536 is no wire address"),
        ("address = 10", 'address = "10"', 5, "points.level.address", "must be a whole number, not '10'"),
        ("address = 10\n", "", 3, "points.level.address", "is missing"),
        ('unit = "mm"\n', "", 3, "points.level.unit", "is missing"),
        ('unit = "mm"', 'unit = "mm"\nscale = 0', 8, "points.level.scale", "must not be zero"),
        ('unit = "mm"', 'unit = "mm"\nsize = 2', 8, "points.level.size", "is not a key"),
        ('unit = "mm"', 'unit = "mm"\nsentinel = -99', 8, "points.level.sentinel", "did you mean 'sentinels'"),
        ('unit = "mm"', 'unit = "mm"\nblock = [11, 4]', 8, "points.level.block", "does not hold the value"),
        ('unit = "mm"', 'unit = "mm"\nsentinels = ["x"]', 8, "points.level.sentinels", "must be numbers"),
        ('unit = "mm"', 'unit = "mm"\nfail_below = 4\nsuspect_below = 3', 3, "points.level", "must rise"),
        ('unit = "mm"', 'unit = "mm"\norder = "ACBD"', 8, "points.level.order", "unknown byte order"),
        (
            'unit = "mm"',
            'unit = "mm"\nstatus = [{ address = 1, type = "u16", rule = "x" }]',
            8,
            "points.level.status[0].rule",
            "there is no table 'x'",
        ),
        ('model = "My instrument"', "model = 3", 2, "model", "must be a text"),
        ('id = "mine"', 'id = "mine"\nlimits = { max_registers = 0 }', 2, "limits.max_registers", "between 1 and"),
    ],
)
def test_a_mistake_is_named_with_line_and_key(old: str, new: str, line: int, path: str, said: str) -> None:
    """The technician is told the file, the line and the key, in words."""
    with pytest.raises(ConfigError) as caught:
        parse(SOUND.replace(old, new), "mine.toml")
    problem = caught.value.problems[0]
    assert (problem.file, problem.line, problem.path) == ("mine.toml", line, path)
    assert said in problem.text


@pytest.mark.parametrize(
    ("section", "path", "said"),
    [
        ("[trigger]\naddress = 5\nvalue = 1", "trigger.address", "5 is not among the writable addresses"),
        ("[trigger]\nfunction = 5\naddress = 5\nvalue = 1", "trigger.function", "must be 6 or 16"),
        ("[trigger]\naddress = 5\nvalue = 70000", "trigger.value", "must be 0 to 65535"),
        ('[start]\nrequest = "06 00 30 FF FF"', "start.request", "anything else could change the device"),
        ('[start]\nrequest = "10 00 30 00 01 02 FF FF"', "start.request", "must be a request of no registers"),
        ('[start]\nrequest = "03 25 00 00 01"', "start.request", "must be a request of no registers"),
        ('[start]\nrequest = "start"', "start.request", "must be a request of no registers"),
        ('[wake]\nasleep_after = "5 s"\nwait = "50 s"', "wake.wait", "is longer than 2 s"),
        ('[wake]\nwait = "1 s"', "wake.asleep_after", "is missing"),
        ('[wake]\nasleep_after = "five"', "wake.asleep_after", "is not a number with its unit"),
        ('[transport]\nframings = ["x"]', "transport.framings", "must be of rtu, ascii, tcp"),
        ("[limits]\nmax_gap = -1", "limits.max_gap", "must not be negative"),
        ("[limits]\nalign = 0", "limits.align", "must lie between 1 and max_registers"),
        ('[facts.serial]\naddress = 1\ntype = "ascii"', "facts.serial.registers", "is missing"),
        ('[facts.serial]\naddress = 1\ntype = "x"', "facts.serial.type", "unknown type 'x'"),
        ("[points.x]\nlist = 'a'\nunit = 'm'\ncodes = { 1 = 'm' }", "points.x.list", "there is no list 'a'"),
        ("[points.x]\nlist = 'a'\nunit = 'm'", "points.x.codes", "must say which codes are this value"),
        (
            "[points.x]\nfunction = 3\naddress = 1\ntype = 'u16'\nunit = 'm'\nstatus = [{ address = 2, type = 'u16', unchanged = 1 }]",  # noqa: E501 - one line of TOML after another
            "points.x.status[0].unchanged",
            "must be",
        ),
        ("[points]\nx = 3", "points.x", "must be a table"),
    ],
)
def test_a_mistake_in_what_a_device_wants_is_named(section: str, path: str, said: str) -> None:
    """Nothing is written that is not listed, no raw request but one of no registers, no wait that starves the line."""
    text = SOUND if not section.startswith("[points]") else SOUND.split("[points", maxsplit=1)[0]
    with pytest.raises(ConfigError) as caught:
        parse(f"{text}{section}\n", "mine.toml")
    assert any(problem.path == path and said in problem.text for problem in caught.value.problems), caught.value


def test_a_site_cannot_allow_more_to_be_written() -> None:
    """What may be written is the profile's word: an override of the site file is refused."""
    with pytest.raises(ConfigError, match="writable: belongs to the profile"):
        load("aqualabo-ponsel-digisens", {"variant": "PHEHT", "writable": [1, 163], "trigger": {"address": 163}})


def test_a_variant_must_be_one_of_the_file() -> None:
    """A missing choice and a wrong one are told with what there is; a file of one variant takes none."""
    with pytest.raises(ConfigError, match="variant: is missing: which of them is it; there are Y532, Y533, Y520, Y511"):
        load("yosemitech-y5xx")
    with pytest.raises(ConfigError, match="variant: there is no variant 'Y599'"):
        load("yosemitech-y5xx", {"variant": "Y599"})
    with pytest.raises(ConfigError, match="variant: there is no variant 'x': this profile has none"):
        load("tuf-2000m", {"variant": "x"})
    assert load("yosemitech-y5xx", {"variant": "Y520"}).variant == "Y520"
    text = 'default_variant = "b"\n' + SOUND + "[variants.a]\n[variants.b]\norder = 'CDAB'\n"
    assert parse(text, "mine.toml").points["level"].register.order == "CDAB"
    assert parse(text, "mine.toml", {"variant": "a"}).points["level"].register.order == "ABCD"


def test_status_and_value_that_touch_come_in_one_request() -> None:
    """Value, status and unit of an input are one span: no limit on a request can part them."""
    point = load("eh-liquiline-cm44x").points["AI3"].for_unit("pH")
    assert {point.span_of(register) for register in point.registers()} == {Span(3, 8, 4)}


def test_all_mistakes_come_at_once() -> None:
    """Two mistakes in two places are two problems of one error."""
    text = SOUND.replace("function = 3", "function = 9").replace('model = "My instrument"', "")
    with pytest.raises(ConfigError) as caught:
        parse(text, "mine.toml")
    assert {problem.path for problem in caught.value.problems} == {"points.level.function", "model"}


def test_a_mistake_in_a_repeated_point_has_the_templates_line() -> None:
    """The message names the point that is wrong and the line on which the template stands."""
    text = SOUND.replace("[points.level]", '[points."AI{n}"]\nrepeat = 2').replace("address = 10", "address = 65535")
    with pytest.raises(ConfigError, match=r"mine\.toml:6: points\.AI2\.address: 65536 is no wire address"):
        parse(text, "mine.toml")


def test_a_value_wider_than_one_request_is_refused() -> None:
    """A value is never split, so a double cannot be read from a device that gives two registers at a time."""
    text = SOUND.replace('"u16"', '"f64"').replace("[points.level]", "[limits]\nmax_registers = 2\n[points.level]")
    with pytest.raises(ConfigError, match="needs 4 registers in one request; the device gives 2"):
        parse(text, "mine.toml")


def test_a_file_that_is_not_there() -> None:
    """The path that was asked for is in the message."""
    with pytest.raises(ConfigError, match=r"no-such\.toml: cannot read the device profile"):
        load("/no-such.toml")


SWITCHES = """\
id = "mine"
model = "My input module"
order = "BADC"
[limits]
max_gap = 1
max_bits = 20
[points.door]
function = 2
address = 3
unit = "state"
[points.float]
function = 2
address = 19
type = "bool"
unit = "state"
[points.horn]
function = 1
address = 3
type = "bit"
unit = "state"
scale = -1
offset = 1
[points.level]
function = 4
address = 3
type = "u16"
unit = "mm"
"""


def test_coils_and_inputs_are_points_like_others() -> None:
    """Each kind is asked for by its own function, over no longer a hole than a register's sixteen bits, and is 0 or 1.

    A device-wide byte order is not theirs; a contact that opens on alarm is turned round by scale -1 and offset 1.
    """
    profile = parse(SWITCHES, "mine.toml")
    points = profile.points
    assert [(r.function, r.start, r.count) for r in plan(points.values(), profile.limits)] == [
        (1, 3, 1),
        (2, 3, 17),
        (4, 3, 1),
    ]
    assert len(plan(points.values(), replace(profile.limits, max_gap=0))) == 4
    assert len(plan(points.values(), replace(profile.limits, max_bits=16))) == 4
    even = replace(profile.limits, even_start=True, align=8)  # of registers
    assert [(r.function, r.start, r.count) for r in plan(points.values(), even)] == [(1, 3, 1), (2, 3, 17), (4, 0, 8)]
    assert read_point(points["door"], {(2, 3): 1}).value == 1.0
    assert read_point(points["float"], {(2, 19): 0}).value == 0.0
    assert [read_point(points["horn"], {(1, 3): state}).value for state in (0, 1)] == [1.0, 0.0]


@pytest.mark.parametrize(
    ("old", "new", "path", "said"),
    [
        ("function = 4", "function = 2", "points.level.type", "u16 cannot be read with function 2"),
        ('type = "u16"', 'type = "bit"', "points.level.type", "bit cannot be read with function 4"),
        ("function = 4", "function = 5", "points.level.function", "must be 1 (coils), 2 (discrete inputs), 3"),
        (
            'type = "bool"',
            'type = "bool"\nbits = [0, 1]',
            "points.float.bits",
            "a coil or an input has no bytes or bits",
        ),
        ("max_bits = 20", "max_bits = 2001", "limits.max_bits", "must lie between 1 and 2000"),
    ],
)
def test_a_mistake_about_coils_and_inputs_is_named(old: str, new: str, path: str, said: str) -> None:
    """A number is no bit and a bit is no number."""
    with pytest.raises(ConfigError) as caught:
        parse(SWITCHES.replace(old, new), "mine.toml")
    assert any(problem.path == path and said in problem.text for problem in caught.value.problems), caught.value


HOSTILE = """\
id = "mine"
model = "My instrument"
[points.level]
function = 3
address = 7
type = "f32"
unit = "pH"
"""


@pytest.mark.parametrize(
    ("more", "path", "said"),
    [
        ("scale = 1e-320", "points.level.scale", "too small to calculate with"),
        ("scale = nan", "points.level.scale", "no number to calculate with"),
        ('scale = "1e999999999"', "points.level.scale", "must be a number or a fraction"),
        (f"scale = {'9' * 400}", "points.level.scale", "no number to calculate with"),
        ("offset = inf", "points.level.offset", "no number to calculate with"),
        ("fail_below = nan", "points.level.fail_below", "no number to calculate with"),
        ("sentinels = [nan]", "points.level.sentinels", "must be finite"),
        ("resolution = 0", "points.level.resolution", "must be above zero"),
        ("block = [-5, 100]", "points.level", "beyond the addresses there are"),
        ("limits = { max_registers = 2, even_start = true }", "points.level", "3 registers from 6 in one request"),
        ("limits = { max_registers = 2, align = 2 }", "points.level", "4 registers from 6 in one request"),
        ('status = [{ address = 9, type = "u16", rule = [1] }]', "points.level.status[0].rule", "must be a text"),
    ],
)
def test_a_number_or_a_request_that_cannot_be_is_refused_when_the_file_is_read(more: str, path: str, said: str) -> None:
    """Not at the first poll, where it would end the polling of the whole line; and never by a hang."""
    text = f"{more}\n{HOSTILE}" if more.startswith("limits") else f"{HOSTILE}{more}\n"
    with pytest.raises(ConfigError) as caught:
        parse(text, "mine.toml")
    assert any(p.path == path and said in p.text for p in caught.value.problems), caught.value.problems


def test_a_repeated_point_is_not_written_out_without_end() -> None:
    """A billion inputs are a mistake, named at once."""
    text = HOSTILE.replace("points.level", 'points."AI{n}"') + "repeat = 1000000000\n"
    with pytest.raises(ConfigError, match="must lie between 1 and 512"):
        parse(text, "mine.toml")
