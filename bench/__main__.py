"""`python -m bench`: the figures of this machine, each with the command that gives it alone."""

import sys

from bench import month_at_1hz, replay_speed, serial_line, typical_site


def main() -> int:
    """Print every figure; 0 unless a measurement could not be made."""
    print("replay (python -m bench.replay_speed)")
    replay_speed.main()
    print("a month (python -m bench.month_at_1hz)")
    month_at_1hz.main([])
    print("a serial line (python -m bench.serial_line)")
    serial_line.main([])
    print("typical site (python -m bench.typical_site)")
    return typical_site.main([])


if __name__ == "__main__":
    sys.exit(main())
