"""What all tests share: how Hypothesis searches, a clean environment, and no way out to the network."""

import ipaddress
import os
import re
import signal
import socket
import zlib
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import certifi
import httpx
import pytest
from hypothesis import HealthCheck, settings

# Deadlines would be timed asserts. In CI the same examples are tried each time, and nothing is stored. HYPOTHESIS_PROFILE names
# another profile: `make coverage` and `make endurance` take their time.
_SLOW_IS_FINE = [HealthCheck.too_slow]
settings.register_profile("dev", deadline=None, max_examples=12, suppress_health_check=_SLOW_IS_FINE)
settings.register_profile("thorough", settings.get_profile("dev"), max_examples=100)
settings.register_profile(
    "ci", settings.get_profile("dev"), max_examples=20, derandomize=True, database=None, print_blob=True
)
settings.load_profile(os.environ.get("HYPOTHESIS_PROFILE") or ("ci" if os.environ.get("CI") else "dev"))


if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:  # as it is for what a shell runs in the background
    signal.signal(signal.SIGINT, signal.default_int_handler)

_ADDRESS = re.compile(r"\bat 0x[0-9a-f]{6,}")


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Refuse names that change from process to process, and leave most cases of ``sampled`` tests to `make endurance`.

    A name with an address in it is another one in each process: then none can run side by side.
    """
    unstable = [item.nodeid for item in items if _ADDRESS.search(item.nodeid)]
    if unstable:
        raise pytest.UsageError(f"names that change: {unstable[:9]}")
    sampled = {item: marker.args[0] for item in items if (marker := item.get_closest_marker("sampled")) is not None}
    first = set({item.nodeid.partition("[")[0]: item for item in reversed(sampled)}.values())
    for item, share in sampled.items():
        # A checksum of the name, and not its position, as positions of a table of doors and faults fall on the same doors.
        if item not in first and zlib.crc32(item.nodeid.encode()) % share:
            item.add_marker(pytest.mark.endurance)


@pytest.fixture(scope="session", autouse=True)
def _clean_environment() -> Iterator[None]:
    """Run the tests without the settings, keys and log of whoever runs them; what a test sets, it takes back itself."""
    with pytest.MonkeyPatch.context() as patch:
        for name in os.environ:
            if name.startswith(("INNKEEPER_", "_INNKEEPER_")) or name.endswith(("_API_KEY", "_PROXY", "_proxy")):
                patch.delenv(name)
        patch.setenv("INNKEEPER_CONFIG", os.devnull)
        patch.setenv("INNKEEPER_LOGGING", "off")
        for phase in ("connect", "read", "write", "pool"):  # a test's own calls wait as long as a busy machine needs
            patch.setattr(httpx._config.DEFAULT_TIMEOUT_CONFIG, phase, 120.0)
        yield


@pytest.fixture(scope="session", autouse=True)
def _few_certificates(tmp_path_factory: pytest.TempPathFactory) -> Iterator[None]:
    """Let clients of HTTP trust one authority instead of a hundred and fifty, whom each reads anew: no test reaches any."""
    first, end, _ = Path(certifi.where()).read_text("utf-8").partition("-----END CERTIFICATE-----")
    path = tmp_path_factory.mktemp("trust") / "one.pem"
    path.write_text(f"{first}{end}\n", "utf-8")
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("SSL_CERT_FILE", str(path))
        yield


@pytest.fixture(scope="session", autouse=True)
def _only_this_machine() -> Iterator[None]:
    """Refuse connections to anywhere else: tests need no network."""
    with pytest.MonkeyPatch.context() as patch:
        for method in ("connect", "connect_ex"):
            patch.setattr(socket.socket, method, _loopback_only(getattr(socket.socket, method)))
        yield


def _loopback_only(connect: Any) -> Any:
    def checked(self: socket.socket, address: Any) -> Any:
        if self.family in {socket.AF_INET, socket.AF_INET6} and not _is_here(self.family, address[0]):
            raise PermissionError(f"a test tried to reach {address[0]}")
        return connect(self, address)

    return checked


def _is_here(family: int, host: str) -> bool:
    """Whether an address is this machine's: of its loopback, or one that a socket can be bound to, as the nodes of Ray have."""
    try:
        if ipaddress.ip_address(host).is_loopback:
            return True
        with socket.socket(family, socket.SOCK_DGRAM) as probe:
            probe.bind((host, 0))
    except (ValueError, OSError):
        return host == "localhost"
    return True
