"""mqkit_spark.sink.job: the id of a batch job, and of a batch of a stream."""

from __future__ import annotations

import pytest

from mqkit.errors import ConfigurationError
from mqkit_spark.sink.job import BATCH_ID, QUERY_ID, BatchJob, StreamBatch


class Task(dict[str, str]):
    """A task's local properties."""

    def getLocalProperty(self, key: str) -> str | None:
        return self.get(key)


IN_STREAM = Task({QUERY_ID: "query", BATCH_ID: "7"})


def test_a_batch_job_has_its_id_whatever_the_task_says() -> None:
    assert BatchJob("nightly").id_in(IN_STREAM) == "nightly"


def test_a_stream_is_named_by_query_and_batch() -> None:
    assert StreamBatch().id_in(IN_STREAM) == "query/7"
    assert StreamBatch("mine").id_in(IN_STREAM) == "mine/7"


def test_the_batch_that_the_caller_knows_counts() -> None:
    assert StreamBatch(batch_id=0).id_in(IN_STREAM) == "query/0"
    assert StreamBatch("mine", 3).id_in(Task()) == "mine/3"


@pytest.mark.parametrize("task", [Task(), Task({BATCH_ID: "7"}), Task({QUERY_ID: "query"})])
def test_a_task_of_no_stream_has_no_stable_id(task: Task) -> None:
    with pytest.raises(ConfigurationError, match="give option jobId"):
        StreamBatch().id_in(task)
