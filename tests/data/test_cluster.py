"""The cluster: two nodes on this machine, each with processes and a store of its own, one of which is lost."""

from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest
from pyarrow import parquet

from innkeeper.data import RunOptions, open_rows, run_batch
from innkeeper.data.cluster import RayEngine
from innkeeper.prompt import UnavailableError
from tests.data.test_run import ROWS, SETTINGS, here, written

pytestmark = pytest.mark.endurance
ray: Any = pytest.importorskip("ray", reason="Ray is not installed (pip install '.[ray]')")


@pytest.fixture
def cluster() -> Iterator[Any]:
    """A head and a second node, a core each."""
    from ray.cluster_utils import Cluster

    made: Any = Cluster(initialize_head=True, head_node_args={"num_cpus": 1})  # type: ignore[no-untyped-call, unused-ignore]
    made.second = made.add_node(num_cpus=1)
    yield made
    ray.shutdown()
    made.shutdown()


@pytest.mark.parametrize("loses", [False, True])
def test_the_same_bytes_as_on_one_machine(tmp_path: Path, cluster: Any, *, loses: bool) -> None:
    """Also when a node is lost on the way: its shards are built again on the other one."""
    rows = [{**row, "id": str(n), "message": f"{n} {row['message']}"} for n, row in enumerate(ROWS * 20)]
    source, options = open_rows([str(written(tmp_path / "rows.parquet", rows))]), RunOptions(shard=8)
    lost: list[int] = []

    def told(done: int, _: int) -> None:
        if loses and not lost and done > 60:
            lost.append(done)
            cluster.remove_node(cluster.second, allow_graceful=False)

    engine = RayEngine(cluster.address)
    try:
        report = run_batch(source, tmp_path / "ray.parquet", SETTINGS, options, engine=engine, progress=told)
    finally:
        engine.close()
    run_batch(source, tmp_path / "here.parquet", SETTINGS, options, engine=here)
    assert (report.rows, report.errors, bool(lost)) == (len(rows), 0, loses)
    assert (tmp_path / "ray.parquet").read_bytes() == (tmp_path / "here.parquet").read_bytes()
    assert parquet.read_table(tmp_path / "ray.parquet").num_rows == len(rows)


def test_a_head_that_is_gone(tmp_path: Path, cluster: Any) -> None:
    """An error says what is done and how to go on; the run goes on without the cluster, and gives the same bytes."""
    rows = [{**row, "id": str(n), "message": f"{n} {row['message']}"} for n, row in enumerate(ROWS * 20)]
    source, options, out = (
        open_rows([str(written(tmp_path / "rows.jsonl", rows))]),
        RunOptions(shard=8),
        tmp_path / "o.parquet",
    )

    def told(done: int, _: int) -> None:
        if done == 64:
            cluster.head_node.kill_gcs_server(check_alive=False)
            cluster.head_node.kill_raylet(check_alive=False)

    with closing(RayEngine(cluster.address)) as engine, pytest.raises(UnavailableError, match="has failed") as gone:
        run_batch(source, out, SETTINGS, options, engine=engine, progress=told)
    assert "rows are done, in" in str(gone.value.hint)
    report = run_batch(source, out, SETTINGS, options, engine=here)
    run_batch(source, tmp_path / "here.parquet", SETTINGS, options, engine=here)
    assert (report.resumed >= 8, report.rows) == (True, len(rows))
    assert out.read_bytes() == (tmp_path / "here.parquet").read_bytes()


def test_a_cluster_that_is_not_there() -> None:
    """It is told with how to start one."""
    with pytest.raises(UnavailableError, match="cluster"):
        RayEngine("127.0.0.1:1")
