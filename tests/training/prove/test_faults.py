"""The catalogue of faults that a user can cure."""

import re
import shlex

import pytest

from vllm_triage.classifier.command.source import read_text
from vllm_triage.training.prove.faults import BASE, load_faults
from vllm_triage.training.record.faults import Catalogue, CatalogueError

FILL = {"models": "/m", "port": "8500", "lib": "/lib"}
FAULTS = load_faults(Catalogue())


@pytest.mark.parametrize("fault", FAULTS.values(), ids=FAULTS)
def test_every_command_starts_a_server_and_what_a_person_replaces_stands_in_it(fault):
    """A correction by hand that changes nothing would cure nothing."""
    command = fault.command(FILL)
    assert read_text(command) is not None
    assert set(fault.kept(FILL)) <= set(shlex.split(command))
    for hand in fault.by_hand:
        re.compile(hand.says)
        there = shlex.split(fault.command({"models": "{models}", "port": "8500", "lib": "{lib}"}))
        assert hand.environment or any(old in there for old in hand.instead), hand


def test_faults_of_the_recorder_have_its_arguments_with_real_weights():
    """Without the recorder's dummy weights, where the model is a sound one."""
    fault = FAULTS["lora-rank"]
    assert fault.arguments == ["--max-lora-rank", "16"]
    assert fault.base == BASE
    assert fault.buckets == ["lora"]


def test_a_broken_catalogue_is_told_with_file_and_fault(tmp_path):
    """Unknown keys, unknown faults of the recorder, ids that are there twice."""
    (tmp_path / "a.toml").write_text('[[fault]]\nid = "x"\nbroken = "x"\nbukets = []\n')
    with pytest.raises(CatalogueError, match=r"a\.toml: x"):
        load_faults(Catalogue(), tmp_path)
    (tmp_path / "a.toml").write_text('[[recorded]]\nid = "no-such-fault"\n')
    with pytest.raises(CatalogueError, match="no-such-fault"):
        load_faults(Catalogue(), tmp_path)
    twice = '[[fault]]\nid = "x"\nbroken = "x"\nbuckets = ["lora"]\n'
    (tmp_path / "a.toml").write_text(twice * 2)
    with pytest.raises(CatalogueError, match="twice"):
        load_faults(Catalogue(), tmp_path)
