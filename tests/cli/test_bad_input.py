"""What can't be done is refused in words: what, why, what to do instead; never with a traceback."""

from __future__ import annotations

import re
import resource
from pathlib import Path

import pytest

from simharness.cli.listing import LISTS
from simharness.recording.format import FrameType, footer_payload
from simharness.recording.writer import FrameLog
from simharness.values import pack
from tests.cli.conftest import SHOP, Cli, Recorded, Spawn, Told
from tests.determinism.culprits import sizing
from tests.effort import times

CRM = "crm/negotiation"
DRONE = Path(__file__).parents[1] / "data" / "drone-3.jsonl"


def assert_refused(told: Told, code: int, *patterns: str) -> None:
    """Check an exit code, and that each pattern is in what was told on stderr."""
    assert "Traceback" not in told.err
    assert (told.code, told.out) == (code, ""), told.err
    for pattern in patterns:
        assert re.search(pattern, told.err), told.err


def assert_nothing_was_written(folder: Path) -> None:
    assert not (folder / "runs").exists()


# Names


@pytest.mark.parametrize(
    ("argv", "patterns"),
    [
        (["rnu"], ["No such command 'rnu'. Did you mean run?"]),
        (["run"], ["Missing argument 'SCENARIO...'"]),
        (["run", CRM, "--sed", "1"], ["No such option '?--sed'?", "--seed"]),
        (["run", "nope/x"], ["SH-USE-002: no product named 'nope'", "known: crm"]),
        (["run", "cmr/negotiation"], ["no product named 'cmr'", "did you mean 'crm'"]),
        (["run", "crm/negotation"], ["no scenario of crm", "did you mean 'negotiation'"]),
        (["run", "crm"], ["scenario 'crm' is not readable", "give product/slug or path"]),
        (["run", ""], ["scenario '' is not readable"]),
        (["run", CRM, CRM], [f"scenario '{CRM}' is named twice"]),
        (["run", CRM, "--set", "deals.detail.cache.tl=3s"], ["no knob", "deals.detail.cache.ttl"]),
        (["run", CRM, "--set", "deals.detail.cache.ttl=x"], ["unreadable duration 'x'", "300s"]),
        (["run", CRM, "--set", "instance.dael=3"], ["no instance value", "did you mean 'deal'"]),
        (["run", CRM, "--set", "instance.deal=85"], ["deal = 85 is out of range", "give 1 to 84"]),
        (["run", CRM, "--set", "instance.deal=x"], ["deal = 'x' is out of range", "1 to 84"]),
        (["run", CRM, "--set", "instance.deal=1.5"], ["deal = '1.5' is out of range"]),
        (["run", CRM, "--set", "instance.legal=no"], ["legal = 'no' is not possible", "cleared"]),
        (["run", CRM, "--set", "instance.legal=[1]"], [r"legal = \[1\] is not possible"]),
        (["run", CRM, "--set", "ttl"], ["setting 'ttl' is not readable", "give KEY=VALUE"]),
        (["run", CRM, "--set", "=3"], ["setting '=3' is not readable", "give KEY=VALUE"]),
        (["run", CRM, "--fault", "crm.nofence"], ["no fault named", "did you mean 'crm.no-fence'"]),
        (["run", CRM, "--fault", "crm.no-fence@on=3"], ["trigger 'on=3' of", "use from=60s"]),
        (["run", CRM, "--fault", "crm.no-fence@from="], ["unreadable duration ''", "'300s'"]),
        (["run", CRM, "--fault", "crm.no-fence@load=x"], ["load 'x' is not a number"]),
        (["run", CRM, "--fault", "crm.no-fence@from=9s,until=3s"], ["ends at 3", "from < until"]),
        (["run", CRM, "--fault", "crm.no-fence@"], ["trigger '' of", "use from=60s"]),
        (["run", CRM, "--fault", "crm.no-fence@from=1s,from=2s"], ["gives 'from' twice"]),
        (
            ["run", CRM, "--fault", "crm.no-fence", "--fault", "crm.no-fence"],
            ["fault 'crm.no-fence' is given twice", "give each fault and trigger once"],
        ),
        (
            ["run", CRM, "--set", "deals.feed.period=3s", "--set", "deals.feed.period=4s"],
            ["setting 'deals.feed.period' is given twice", "give each knob one value"],
        ),
        (["show", "x", "--all"], ["--all is for the rows of one step", "with --step N"]),
        (["show", "x", "--messages", "--step", "1"], ["whole episode", "leave --step and --truth"]),
        (["run", CRM, "--policy", "exprt"], ["no policy of crm/neg", "did you mean 'expert'"]),
        (["run", CRM, "--profile", "prod"], ["no profile of crm", "did you mean 'production'"]),
        (["run", CRM, "--schedule", "lifo"], ["policy 'lifo' is not known", "random:SEED"]),
        (["run", CRM, "--schedule", "random:-1"], ["policy 'random:-1' is not known"]),
        (["list", "thing"], ["'thing' is not one of 'products'"]),
        (["list", "products", "crn"], ["no product named 'crn'", "did you mean 'crm'"]),
        (["list", "scenarios", "crm/x"], ["no scenario of crm named 'x'", "known: .*negotiation"]),
        (["list", "tools"], ["list tools needs a product", "e.g. simharness list tools crm"]),
        (["list", "knobs"], ["list knobs needs a product", "e.g. simharness list knobs crm"]),
        (["soak", "crm"], ["scenario 'crm' is not readable"]),
        (["soak", CRM, "--users", "20001"], ["20001 users are too many", "give 0 to 20000"]),
        (["soak", CRM, "--pings", "0"], ["0 is not in the range 1<=x"]),
        (["soak", CRM, "--seed", str(2**64)], [f"seed {2**64} is not usable"]),
    ],
)
def test_a_name_or_value_that_is_not_known_is_refused(
    cli: Cli, tmp_path: Path, argv: list[str], patterns: list[str]
) -> None:
    assert_refused(cli(*argv), 2, *patterns)
    assert_nothing_was_written(tmp_path)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("5:3", "seed range '5:3' is empty\n  give A:B with A below B"),
        ("3:3", "seed range '3:3' is empty"),
        ("a:b", "seed range 'a:b' is not readable\n  give N, or A:B"),
        ("-1", "seed range '-1' is not readable"),
        ("1:2:3", "seed range '1:2:3' is not readable"),
        ("1:", "seed range '1:' is not readable"),
        (":3", "seed range ':3' is not readable"),
        ("", "seed range '' is not readable"),
        ("1.0", "seed range '1.0' is not readable"),
        ("\u0663", "seed range '\u0663' is not readable"),
        ("0:99999999999", "seed range .* is too long or too high\n  at most 10000000 seeds"),
        (str(2**64), "seed range .* is too long or too high"),
        ("9" * 400, "seed range .* is not readable"),
    ],
)
def test_a_bad_seed_range_is_refused(cli: Cli, tmp_path: Path, text: str, message: str) -> None:
    assert_refused(cli("run", CRM, f"--seed={text}"), 2, message)
    assert_nothing_was_written(tmp_path)


def test_a_seed_range_that_contradicts_the_episodes_is_refused(cli: Cli) -> None:
    told = cli("run", CRM, "--seed", "0:3", "--episodes", "5")
    assert_refused(told, 2, "holds 3 seeds and --episodes says 5", "give one of the two")


@pytest.mark.parametrize("text", ["nan", "inf", "1e3", "", " 1", "1,5", "\u00b2", "0x1", "."])
def test_a_load_that_is_no_number_is_refused(cli: Cli, tmp_path: Path, text: str) -> None:
    told = cli("run", CRM, f"--load={text}")
    assert_refused(told, 2, f"load {re.escape(repr(text))} is not a number\n  give 0 to 1000")
    assert_nothing_was_written(tmp_path)


def test_a_load_below_zero_is_refused(cli: Cli, tmp_path: Path) -> None:
    told = cli("run", CRM, "--load=-1")
    assert_refused(told, 2, "load '-1' is below 0\n  give 0 to 1000")
    assert_nothing_was_written(tmp_path)


def test_a_load_of_too_many_decimals_is_refused(cli: Cli, tmp_path: Path) -> None:
    assert_refused(
        cli("run", CRM, "--load=1.2345"), 2, "load '1.2345' has more than three decimals"
    )
    assert_nothing_was_written(tmp_path)


@pytest.mark.parametrize("text", ["1001", "1000.001", "99999"])
def test_a_load_out_of_range_is_refused(cli: Cli, tmp_path: Path, text: str) -> None:
    assert_refused(cli("run", CRM, f"--load={text}"), 2, f"load '{text}' is out of range")
    assert_nothing_was_written(tmp_path)


def test_a_pin_that_suits_some_seeds_only_is_refused_before_the_run(
    cli: Cli, tmp_path: Path
) -> None:
    # At most 15 percent are free of approval, so this pin suits the seeds that draw such a deal.
    pin = ("--set", "instance.discount_pct=10")
    codes = {
        seed: cli("run", CRM, "--policy", "null", "--seed", seed, *pin).code
        for seed in (0, 1, 2, 3)
    }
    assert set(codes.values()) == {0, 2}
    (tmp_path / "runs").rename(tmp_path / "those-that-suit")
    unfit = min(seed for seed, code in codes.items() if code)
    told = cli("run", CRM, "--seed", "0:4", *pin)
    assert_refused(told, 2, rf"discount_pct = 10 is out of range \(seed {unfit}\)")
    assert_nothing_was_written(tmp_path)


# Folders and disks


def test_a_folder_that_holds_something_is_refused_and_left_alone(cli: Cli, tmp_path: Path) -> None:
    kept = tmp_path / "full" / "kept.txt"
    kept.parent.mkdir()
    kept.write_text("mine", encoding="utf-8")
    assert_refused(
        cli("run", CRM, "-o", "full"), 2, "folder 'full' is not empty", "give -o another"
    )
    assert [path.name for path in kept.parent.iterdir()] == ["kept.txt"]
    assert kept.read_text(encoding="utf-8") == "mine"


def test_an_empty_folder_is_taken(cli: Cli, tmp_path: Path) -> None:
    (tmp_path / "empty").mkdir()
    assert cli("run", CRM, "--policy", "null", "-o", "empty").code == 0


def test_a_finished_run_is_not_written_over(cli: Cli, recorded: Recorded) -> None:
    before = {path: path.read_bytes() for path in recorded.run.rglob("*") if path.is_file()}
    assert_refused(cli("run", CRM, "-o", recorded.run), 2, "is not empty")
    assert {path: path.read_bytes() for path in before} == before


@pytest.mark.parametrize("argv", [["run", CRM], ["demo"]])
@pytest.mark.parametrize(
    ("folder", "message"),
    [
        ("file", "'file' is a file\n  give -o a folder"),
        ("file/below", "can't make folder 'file/below': a part of the path is not a folder"),
        ("/proc/below", "can't make folder '/proc/below': no such file or folder\n  check"),
        ("n" * 300, "can't make folder 'n+': the name is too long\n  choose a shorter one"),
    ],
)
def test_a_folder_that_cannot_be_made_is_refused(
    cli: Cli, tmp_path: Path, argv: list[str], folder: str, message: str
) -> None:
    (tmp_path / "file").write_bytes(b"")
    assert_refused(cli(*argv, "-o", folder), 2, message)
    assert (tmp_path / "file").read_bytes() == b""


def test_a_recording_of_the_demo_that_cannot_be_written_is_told(cli: Cli, tmp_path: Path) -> None:
    (tmp_path / "out" / "episode-42.simrec").mkdir(parents=True)
    told = cli("demo", "-o", "out")
    assert told.code == 2
    assert "SH-REC-001: can't write 'out/episode-42.simrec': it is a folder" in told.err


def small_files_only() -> None:
    """Let the system refuse files of more than 20 kB, as a full disk does."""
    resource.setrlimit(resource.RLIMIT_FSIZE, (20_000, 20_000))


NO_BYTECODE = {"PYTHONDONTWRITEBYTECODE": "1"}
"""Python 3.11 would cut its own bytecode off at that, and every later process would fail by it."""


@pytest.mark.parametrize(
    ("argv", "place"),
    [
        (("run", CRM, "--episodes", "50", "-o", "out"), r"out/shards/00000\.simrec"),
        (("demo", "-o", "out"), r"out/episode-42\.simrec"),
        (("soak", CRM, "--pings", "1000", "--users", "20"), r"soak\.simrec"),
    ],
)
def test_a_disk_that_takes_no_more_is_told(spawn: Spawn, argv: tuple[str, ...], place: str) -> None:
    told = spawn(*argv, env=NO_BYTECODE, preexec_fn=small_files_only)
    assert "Traceback" not in told.err
    assert told.code == 2
    assert re.search(f"SH-REC-001: can't write '.*{place}': the file would be too large", told.err)


def test_what_was_recorded_before_the_disk_was_full_replays(spawn: Spawn, cli: Cli) -> None:
    argv = ("run", CRM, "--policy", "null", "--episodes", "60", "-o", "out")
    told = spawn(*argv, env=NO_BYTECODE, preexec_fn=small_files_only)
    assert told.code == 2
    assert "so far can be read from 'out/shards/00000.simrec.part'" in told.err
    result = cli("replay", "out")
    assert (result.code, result.err) == (0, "")
    found = re.search(r"^(\d+) of (\d+) replayed identical", result.out, re.MULTILINE)
    assert found is not None
    assert 2 < int(found[1]) == int(found[2]) < 60


# Recordings


def broken_recordings(whole: bytes) -> dict[str, bytes]:
    """Give files that are no whole recording, by what is wrong with them."""
    middle = len(whole) // 2
    return {
        "empty": b"",
        "foreign": b"\x89PNG\r\n\x1a\n" + bytes(100),
        "newer": whole[:6] + b"\x09" + whole[7:],
        "magic": whole[:8],
        "headless": whole[:20],
        "truncated": whole[:middle],
        "damaged": whole[:middle] + bytes([whole[middle] ^ 1]) + whole[middle + 1 :],
    }


BROKEN = {
    "missing": "can't read '.*': no such file or folder",
    "empty": "not a whole .simrec file: '.*' is empty",
    "foreign": "not a .simrec file: '.*' starts with b'.x89PNG",
    "newer": "recording needs format 9, this build reads up to 1",
    "magic": "no episode in '.*'",
    "headless": "episode is not complete: truncated at byte 8",
    "truncated": r"episode is not complete: truncated at byte \d+; recovered",
    "damaged": r"episode is not complete: damaged at byte \d+: the checksum of the frame doesn't",
}


@pytest.mark.parametrize("wrong", BROKEN)
@pytest.mark.parametrize(
    "argv", [["replay"], ["show"], ["whatif", "--ablate", "cache:deals.detail"]]
)
def test_a_broken_recording_is_refused_or_shown_as_far_as_it_goes(
    cli: Cli, recorded: Recorded, tmp_path: Path, argv: list[str], wrong: str
) -> None:
    path = tmp_path / "broken.simrec"
    if wrong != "missing":
        path.write_bytes(broken_recordings(recorded.file.read_bytes())[wrong])
    told = cli(argv[0], path, *argv[1:])
    assert "Traceback" not in told.err
    if argv == ["show"] and wrong in ("truncated", "damaged"):
        assert told.code == 0
        assert re.search(rf"^  {wrong} at byte \d+", told.out, re.MULTILINE)
    else:
        assert told.code == 2
        assert re.search(BROKEN[wrong], told.out + told.err)


def test_a_recording_cut_anywhere_is_never_a_traceback(
    cli: Cli, recorded: Recorded, tmp_path: Path
) -> None:
    whole = recorded.run.joinpath("shards", "00000.simrec").read_bytes()
    path = tmp_path / "cut.simrec"
    # An odd step, so that frames are cut anywhere and not always at the same place.
    for size in range(0, len(whole), len(whole) // times(40) | 1):
        path.write_bytes(whole[:size])
        for command in ("show", "replay"):
            told = cli(command, path, "--episode", "0")
            # The first episode is whole from some size on.
            assert told.code in (0, 2)
            assert (
                told.code == 0 or "error SH-" in told.err + told.out or "not complete" in told.out
            )


def test_a_recording_of_something_else_is_refused(cli: Cli, tmp_path: Path) -> None:
    for header in ({}, {"scenario": CRM}, {"scenario": CRM, "load": b"x"}, {"scenario": 3}):
        log = FrameLog()
        log.write(pack([FrameType.HEADER, header]), FrameType.HEADER)
        log.write(footer_payload(0, 0, log.chain), FrameType.FOOTER)
        path = tmp_path / "other.simrec"
        log.save(path)
        shown = 0 if header.get("scenario") == CRM else 2
        assert cli("show", path).code == cli("show", path, "--json").code == shown
        assert cli("replay", path).code == 2
        assert_refused(cli("whatif", path, "--ablate", "cache:deals.detail"), 2, "error SH-")


@pytest.mark.parametrize(
    ("argv", "message"),
    [
        (("show", "--step", "99"), "no step 99 in this recording\n  give 1 to 14"),
        (("show", "--step", "0"), "0 is not in the range x>=1"),
        (("show", "--step", "x"), "'x' is not a valid integer range"),
        (("show", "--episode", "7"), "no episode in '.*' named '7'\n  known: crm/negotiation:42"),
        (("replay", "--until", "99"), "no step 99 in this recording\n  give 0 to 14"),
        (("replay", "--until", "-1"), "-1 is not in the range x>=0"),
        (("replay", "--diff", "nope"), "can't read 'nope': no such file or folder"),
        (("whatif",), "Missing option '--ablate'"),
        (("whatif", "--ablate", "cache:deals.detial"), "did you mean 'cache:deals.detail'"),
        (("whatif", "--ablate", ""), "no mechanism named ''\n  "),
    ],
)
def test_what_a_recording_does_not_hold_is_refused(
    cli: Cli, recorded: Recorded, argv: tuple[str, ...], message: str
) -> None:
    assert_refused(cli(argv[0], recorded.file, *argv[1:]), 2, message)


def test_one_of_several_episodes_has_to_be_named(cli: Cli, recorded: Recorded) -> None:
    for argv in (["show"], ["replay", "--until", "1"], ["whatif", "--ablate", "cache:deals.list"]):
        told = cli(argv[0], recorded.run, *argv[1:])
        assert_refused(told, 2, "holds 3 episodes", "name one with --episode")


def test_a_folder_without_recordings_is_refused(cli: Cli, tmp_path: Path) -> None:
    assert_refused(cli("replay", tmp_path), 2, "no recordings in", "give a .simrec file or a run")


def test_a_replay_that_diverges_exits_with_3_and_names_the_next_command(
    cli: Cli, recorded: Recorded, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("simharness.models.crm.people.team.REPS", 5)
    told = cli("replay", recorded.file)
    assert told.code == 3
    assert "crm/negotiation:42: replay diverged at " in told.out
    assert re.search(r"^  next: simharness ", told.out, re.MULTILINE)
    assert told.out.endswith("0 of 1 replayed identical\n")
    (entry,) = cli("replay", recorded.file, "--json").json()["diverged"]
    assert set(entry) == {"episode", "code", "message", "next"}
    assert entry["code"].startswith("SH-DIV-")


# Transcripts


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (None, "transcript 'chat.jsonl', line 1: can't be read: No such file"),
        ("", "transcript 'chat.jsonl', line 1: the file is empty"),
        ('{"a":', "transcript 'chat.jsonl', line 1: not JSON at column"),
        ('{"role":"user","content":"x"}', "line 1: no assistant message"),
        ("[1]", "got a number, expected an object"),
    ],
)
def test_a_broken_transcript_is_refused(
    cli: Cli, tmp_path: Path, text: str | None, message: str
) -> None:
    if text is not None:
        (tmp_path / "chat.jsonl").write_text(text, encoding="utf-8")
    told = cli("run", CRM, "--policy", "transcript:chat.jsonl")
    assert_refused(told, 2, message, "accepted: JSON Lines")
    assert_nothing_was_written(tmp_path)


def test_a_transcript_with_too_few_conversations_is_refused(cli: Cli, tmp_path: Path) -> None:
    told = cli("run", CRM, "--policy", f"transcript:{DRONE}", "--episodes", "4")
    assert_refused(
        told, 2, "holds 3 conversations, the run has 4 episodes", "give a seed range of 3"
    )
    assert_nothing_was_written(tmp_path)


# Products by path


@pytest.mark.parametrize(
    ("text", "name", "patterns"),
    [
        (None, "Shop/x", ["no file 'mine.py'", "give path.py:Class"]),
        ("def f(:", "Shop/x", ["can't be imported: SyntaxError: ", "line 1"]),
        ("raise ValueError('boom')", "Shop/x", ["can't be imported: ValueError: boom"]),
        ("import nowhere_at_all", "Shop/x", ["can't be imported: ModuleNotFoundError: "]),
        ("class Shop: pass", "Shop/x", ["'mine.py:Shop' is no product", "subclass of simharness"]),
        ("Shop = 3", "Shop/x", ["'mine.py:Shop' is no product"]),
        ("", "Shop/x", ["no class in mine.py named 'Shop'", "known: none"]),
        ("import simharness as sh\nclass Shop(sh.Product): pass", "Shop/x", ["has no name"]),
        (
            "import simharness as sh\nclass Shop(sh.Product): name = 'shop'",
            "Shop/x",
            ["no scenario of shop named 'x'"],
        ),
        (
            "import simharness as sh\nclass Shop(sh.Product): name = 'shop'",
            "Shpo/x",
            ["no class in mine.py named 'Shpo'", "did you mean 'Shop'"],
        ),
        ("", "Shop", ["scenario 'mine.py:Shop' is not readable", "path.py:Class/slug"]),
    ],
)
def test_a_product_file_that_cannot_be_used_is_refused(
    cli: Cli, tmp_path: Path, text: str | None, name: str, patterns: list[str]
) -> None:
    if text is not None:
        (tmp_path / "mine.py").write_text(text, encoding="utf-8")
    assert_refused(cli("run", f"mine.py:{name}"), 2, *patterns)
    assert_nothing_was_written(tmp_path)


def test_a_product_file_that_exits_is_told(cli: Cli, tmp_path: Path) -> None:
    (tmp_path / "mine.py").write_text("import sys\nsys.exit(0)", encoding="utf-8")
    told = cli("run", "mine.py:Shop/x")
    assert told.code in (2, 4)
    assert re.search(r"SystemExit: 0", told.err)
    assert_nothing_was_written(tmp_path)


@pytest.mark.parametrize(
    ("deed", "imports", "workers", "code", "said"),
    [
        ("sys.stdout.close()", "import sys", 0, 4, "ValueError: I/O operation on closed file"),
        ("sys.stdout.close()", "import sys", 1, 0, "1 episode in runs"),
        ("raise_group()", "", 0, 0, r"broke: BaseExceptionGroup: both \(1 sub-exception\)"),
    ],
)
def test_what_a_tool_does_to_the_process_is_told(
    spawn: Spawn, tmp_path: Path, deed: str, imports: str, workers: int, code: int, said: str
) -> None:
    source = sizing(deed, imports).replace(
        "raise_group()", "(_ for _ in ()).throw(BaseExceptionGroup('both', [SystemExit()]))"
    )
    (tmp_path / "mine.py").write_text(source, encoding="utf-8")
    told = spawn("run", "mine.py:Tiny/scene", "--load", "0", "--workers", workers)
    assert (told.code, "Traceback" in told.err) == (code, False)
    assert re.search(said, " ".join((told.out + told.err).split()))


@pytest.mark.parametrize("place", ["rows", "draw", "start", "people"])
def test_a_product_that_breaks_before_it_starts_is_a_harness_error(
    cli: Cli, tmp_path: Path, place: str
) -> None:
    told = cli("run", f"{SHOP}:Shop/{place}", "--seed", "5:8", "--load", "2")
    assert_refused(
        told, 4, rf"SH-HAR-001: .*Shop/{place}, seed 5: ValueError: {place} broke \(shop"
    )
    assert re.search(
        rf"^  simharness run \S+Shop/{place} --seed 5 --load 2$", told.err, re.MULTILINE
    )
    assert_nothing_was_written(tmp_path)


@pytest.mark.parametrize("place", ["prompt", "brief"])
def test_a_product_that_breaks_between_two_steps_stops_the_run(cli: Cli, place: str) -> None:
    told = cli("run", f"{SHOP}:Shop/{place}")
    assert_refused(
        told, 4, rf"Shop/{place}, seed 0: ValueError: {place} broke", "  simharness run "
    )


@pytest.mark.parametrize("place", ["user", "goal", "tool"])
def test_a_product_that_breaks_within_a_step_costs_only_its_episode(cli: Cli, place: str) -> None:
    told = cli("run", f"{SHOP}:Shop/{place}", "--episodes", "2", "-o", "out", "--json")
    assert told.code == 0
    summary = told.json()
    assert (summary["verdicts"], summary["valid"]) == ({"harness": 2}, 0)
    assert summary["score"] == {"mean": None, "min": None}
    assert cli("replay", "out").code == 0
    assert "the harness failed" in cli("show", "out", "--episode", "1").out


def test_a_policy_that_breaks_is_named_with_its_line(cli: Cli) -> None:
    told = cli("run", f"{SHOP}:Shop/sound", "--policy", "lazy", "--set", "api.latency=5ms")
    assert (told.code, told.err) == (0, "")
    said = r"0:lazy broke: ValueError: the policy broke \(shop\.py:\d+, in lazy\)"
    assert re.search(said, " ".join(told.out.split()))


def test_a_failure_that_nobody_expected_is_told_with_its_place(
    cli: Cli, monkeypatch: pytest.MonkeyPatch
) -> None:
    def explode(_: object) -> None:
        raise ZeroDivisionError("who would have thought")

    monkeypatch.setitem(LISTS, "products", explode)
    told = cli("list", "products", "crm")
    assert_refused(told, 4, r"SH-HAR-001: ZeroDivisionError: who would .* \(.*:\d+, in explode\)")
    assert told.err.endswith("  again: simharness list products crm\n")
