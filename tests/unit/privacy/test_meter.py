import pytest

from core.errors import InvalidInput, MeterClosed, PlanExceeded, UnmeteredFit
from core.privacy.accounting.events import GaussianEvent, PoissonSampled, Pure, Repeated, Unprotected
from core.privacy.accounting.meter import MemoryRecorder, Meter, TranscriptEntry, replay, require_metered
from core.privacy.accounting.plan import Allotment, PrivacyPlan
from core.privacy.units import Unit


def pure(nano):
    return Pure(nano, "laplace")


def plan(*events, unit=Unit.EVENT, steps=3, cell=("t", 1)):
    return PrivacyPlan("test", unit, None, steps, tuple(Allotment(*cell, e, "p") for e in events))


class Journal(MemoryRecorder):
    """Fails from its second entry on, as a full disk does."""

    def record(self, entry):
        if self.entries:
            raise OSError("no space left")
        super().record(entry)


def test_recorded_before_it_returns():
    recorder = MemoryRecorder()
    meter = Meter(plan(pure(10)), recorder)
    meter.charge("t", 1, pure(4), "first")
    meter.charge("t", 1, pure(6), "second")
    assert tuple(recorder.entries) == meter.transcript
    assert [e.sequence for e in meter.transcript] == [0, 1]
    assert [TranscriptEntry.from_json(e.to_json()) for e in recorder.entries] == recorder.entries


def test_an_overrun_raises_records_nothing_and_stays_closed():
    recorder = MemoryRecorder()
    meter = Meter(plan(pure(10)), recorder)
    meter.charge("t", 1, pure(10), "all")
    with pytest.raises(PlanExceeded):
        meter.charge("t", 1, pure(1), "one too many")
    assert meter.closed
    with pytest.raises(MeterClosed):
        meter.charge("t", 1, pure(1), "again")
    assert len(recorder.entries) == 1


@pytest.mark.parametrize("cell", [("t", 0), ("t", None), ("u", 1)])
def test_a_cell_without_allotment_is_refused(cell):
    meter = Meter(plan(pure(10)), MemoryRecorder())
    with pytest.raises(PlanExceeded):
        meter.charge(*cell, pure(1), "elsewhere")


def test_a_failed_record_closes_the_meter():
    meter = Meter(plan(pure(10)), Journal())
    meter.charge("t", 1, pure(1), "first")
    with pytest.raises(OSError, match="no space"):
        meter.charge("t", 1, pure(1), "second")
    with pytest.raises(MeterClosed):
        meter.charge("t", 1, pure(1), "third")


def test_pure_epsilon_does_not_pay_for_gaussian_noise_nor_the_reverse():
    with pytest.raises(PlanExceeded):
        Meter(plan(pure(10**12)), MemoryRecorder()).charge("t", 1, GaussianEvent(1000), "noise")
    with pytest.raises(PlanExceeded):
        Meter(plan(GaussianEvent(0.01)), MemoryRecorder()).charge("t", 1, pure(1), "count")


def test_other_events_are_compared_at_every_order():
    sgd = PoissonSampled(0.01, GaussianEvent(1))
    meter = Meter(plan(Repeated(sgd, 10)), MemoryRecorder())
    for _ in range(10):
        meter.charge("t", 1, sgd, "step")
    with pytest.raises(PlanExceeded):
        meter.charge("t", 1, sgd, "step 11")


def test_less_noise_than_planned_is_refused():
    meter = Meter(plan(GaussianEvent(2)), MemoryRecorder())
    with pytest.raises(PlanExceeded):
        meter.charge("t", 1, GaussianEvent(1.99), "noise")


def test_low_orders_do_not_hide_high_ones():
    """Cheap at order 2, dear at order 1024: sampled Gaussian noise against plain noise."""
    meter = Meter(plan(GaussianEvent(10)), MemoryRecorder())
    with pytest.raises(PlanExceeded):
        meter.charge("t", 1, PoissonSampled(0.001, GaussianEvent(1)), "sampled")


def test_group_members_are_paid_by_the_cap():
    meter = Meter(plan(pure(10)), MemoryRecorder())
    inside, between = meter.open_group("t", 1, 10, ("inside", "between"), "group")
    for branch in (inside, between):
        meter.charge_branch(branch, "t", 1, pure(6), "a")
        meter.charge_branch(branch, "t", 1, pure(4), "b")
    replay(meter.plan, meter.transcript)
    with pytest.raises(PlanExceeded):
        meter.charge_branch(inside, "t", 1, pure(1), "c")
    with pytest.raises(MeterClosed):
        meter.charge_branch(between, "t", 1, pure(1), "c")


def test_the_group_pays_up_front():
    meter = Meter(plan(pure(10)), MemoryRecorder())
    meter.open_group("t", 1, 10, ("inside", "between"), "group")
    with pytest.raises(PlanExceeded):
        meter.charge("t", 1, pure(1), "after")


def test_a_nested_group_is_paid_by_its_branch():
    meter = Meter(plan(pure(10)), MemoryRecorder())
    inside, _ = meter.open_group("t", 1, 10, ("inside", "between"), "outer")
    nested = meter.open_group("t", 1, 7, ("inside", "between"), "inner", inside)
    meter.charge_branch(nested[0], "t", 1, pure(7), "deep")
    meter.charge_branch(nested[1], "t", 1, pure(7), "deep")
    meter.charge_branch(inside, "t", 1, pure(3), "rest")
    replay(meter.plan, meter.transcript)
    with pytest.raises(PlanExceeded):
        meter.charge_branch(inside, "t", 1, pure(1), "too much")


def test_branches_are_bound_to_their_cell_and_their_kind():
    wide = PrivacyPlan("test", Unit.EVENT, None, 3, tuple(Allotment("t", s, pure(10), "p") for s in range(3)))
    for step, event in ((2, pure(1)), (1, GaussianEvent(100))):
        meter = Meter(wide, MemoryRecorder())
        inside, _ = meter.open_group("t", 1, 10, ("inside", "between"), "group")
        with pytest.raises(PlanExceeded):
            meter.charge_branch(inside, "t", step, event, "astray")


def test_closed_branches_have_nothing_left():
    meter = Meter(plan(pure(10)), MemoryRecorder())
    keys = meter.open_group("t", 1, 10, ("inside", "between"), "group")
    meter.close_group(keys)
    with pytest.raises(PlanExceeded):
        meter.charge_branch(keys[0], "t", 1, pure(1), "late")


def test_unprotected_needs_its_own_allotment():
    with pytest.raises(PlanExceeded):
        Meter(plan(pure(10)), MemoryRecorder()).charge("*", None, Unprotected("why"), "raw")
    meter = Meter(plan(Unprotected("why"), cell=("*", None)), MemoryRecorder())
    meter.charge("*", None, Unprotected("why"), "raw")
    assert len(meter.transcript) == 1


def test_replay_refuses_forged_transcripts():
    meter = Meter(plan(pure(10)), MemoryRecorder())
    meter.charge("t", 1, pure(10), "all")
    entry = meter.transcript[0]
    with pytest.raises(InvalidInput):
        replay(meter.plan, [entry, entry])
    with pytest.raises(PlanExceeded):
        replay(meter.plan, [entry, TranscriptEntry(1, "t", 1, pure(1), "more")])
    with pytest.raises(PlanExceeded):
        replay(meter.plan, [entry, TranscriptEntry(1, "t", 1, pure(1), "member of nothing", 0, 0)])
    with pytest.raises(InvalidInput):
        replay(meter.plan, [TranscriptEntry(0, "t", 1, pure(1), "half a member", 0, None)])


def test_strangers_are_refused():
    with pytest.raises(InvalidInput):
        Meter(plan(pure(10)), MemoryRecorder()).charge("t", 1, "laplace", "stranger")
    with pytest.raises(InvalidInput):
        TranscriptEntry.from_json({"sequence": 0})


ENTRY = TranscriptEntry(3, "t", 1, pure(10), "count", 2, 0).to_json()


@pytest.mark.parametrize(
    "wrong",
    [
        {"sequence": "3"},
        {"sequence": True},
        {"sequence": -1},
        {"sequence": 2**31},
        {"sequence": 3.0},
        {"edge_type": None},
        {"edge_type": ""},
        {"edge_type": "a\nb"},
        {"step": "1"},
        {"step": -1},
        {"step": 10**9},
        {"purpose": "a\0"},
        {"purpose": "\ud800"},
        {"purpose": "x" * 201},
        {"purpose": ["count"]},
        {"group": None},
        {"branch": None},
        {"group": 3},
        {"group": "2"},
        {"branch": -1},
        {"event": {"kind": "pure", "nano_epsilon": 1, "mechanism": "a\tb"}},
        {"event": {"kind": "pure", "nano_epsilon": 1.0, "mechanism": "laplace"}},
        {"event": {"kind": "gaussian", "noise_multiplier": "1e999999999"}},
        {"event": None},
        {"more": 1},
    ],
)
def test_an_entry_that_no_meter_would_write_is_refused(wrong):
    assert TranscriptEntry.from_json(ENTRY).to_json() == ENTRY
    with pytest.raises(InvalidInput):
        TranscriptEntry.from_json(ENTRY | wrong)


def test_a_fit_that_recorded_nothing_is_refused():
    with pytest.raises(UnmeteredFit):
        require_metered(())
    meter = Meter(plan(pure(10)), MemoryRecorder())
    meter.charge("t", 1, pure(1), "something")
    require_metered(meter.transcript)
