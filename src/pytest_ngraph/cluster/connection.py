"""Connects to a scheduler, or says why that is not possible."""

from __future__ import annotations

import asyncio
import socket
import ssl
import time

from distributed import Client

from pytest_ngraph.cluster.security import Endpoint
from pytest_ngraph.cluster.versions import HERE, of_scheduler
from pytest_ngraph.errors import UsageError

TIMEOUT_S = 10.0
NOT_YET_VALID, HAS_EXPIRED = 9, 10
"""`X509_V_ERR_CERT_NOT_YET_VALID` and `X509_V_ERR_CERT_HAS_EXPIRED` of OpenSSL."""
CERTIFICATES = "Its certificate and yours have to come from one folder of pytest-ngraph cluster certs."


def connect(endpoint: Endpoint, timeout_s: float = TIMEOUT_S) -> Client:
    """Return a client of the scheduler.

    Raises:
        UsageError: there is none, or it refuses this client, or its engine does not understand this one.
    """
    probe(endpoint, timeout_s)
    try:
        return Client(endpoint.address, security=endpoint.security, timeout=timeout_s, set_as_default=False)
    except OSError as error:
        raise UsageError(f"cannot connect to the scheduler at {endpoint.address}: {error}.") from None
    except Exception as error:  # an engine of another version raises anything
        theirs = asyncio.run(of_scheduler(endpoint))
        if theirs in ("", HERE):
            raise
        raise UsageError(
            f"the scheduler at {endpoint.address} has distributed {theirs}, this machine has {HERE}, and they do not "
            f"understand each other ({type(error).__name__}: {error}). Install the same here: "
            f"pip install distributed=={theirs}"
        ) from None


def probe(endpoint: Endpoint, timeout_s: float = TIMEOUT_S) -> str:
    """Connect, and disconnect as soon as the scheduler has sent its first byte.

    The engine itself reports a refused certificate, a closed port and a network that is down all as a time-out.

    Returns:
        The address from which this machine reaches the scheduler.

    Raises:
        UsageError: it cannot be reached, or refuses this client; with the reason and the next step.
    """
    at = endpoint.address
    try:
        with socket.create_connection((endpoint.host, endpoint.port), timeout_s) as plain:
            own_address = str(plain.getsockname()[0])
            greeting = _greeting(endpoint, plain)
    except socket.gaierror:
        raise UsageError(
            f"{at}: no machine of the name {endpoint.host} is known here. Check the name, or give an IP address."
        ) from None
    except ConnectionRefusedError:
        raise UsageError(
            f"nothing listens at {at}. Start the scheduler there: pytest-ngraph cluster scheduler."
        ) from None
    except ssl.SSLCertVerificationError as error:
        if error.verify_code == NOT_YET_VALID:
            raise UsageError(
                f"the certificate of the scheduler at {at} is not valid yet by this machine's clock, which says "
                f"{time.strftime('%Y-%m-%d %H:%M')}. If that is wrong, set it: a board without a battery for its clock "
                "may begin in 1970."
            ) from None
        if error.verify_code == HAS_EXPIRED:
            raise UsageError(
                f"the certificate of the scheduler at {at} has expired. Issue a new one "
                "(pytest-ngraph cluster certs) and restart the scheduler with it."
            ) from None
        raise UsageError(
            f"your authority does not vouch for the scheduler at {at}: {error.verify_message}. {CERTIFICATES}"
        ) from None
    except ssl.SSLError as error:
        raise UsageError(_refusal(at, error.reason or "")) from None
    except TimeoutError:
        hint = "" if endpoint.encrypted else f" If it asks for certificates, write tls://{at.partition('://')[2]}."
        raise UsageError(f"no answer from {at} within {timeout_s:g} seconds: is the port open?{hint}") from None
    except OSError as error:
        raise UsageError(f"{at} cannot be reached: {error.strerror or error}.") from None
    if not greeting:
        raise UsageError(
            f"{at} closed the connection: it is not a scheduler, or it refuses this client. {CERTIFICATES}"
        )
    return own_address


def _greeting(endpoint: Endpoint, plain: socket.socket) -> bytes:
    """Return the first byte that the scheduler sends. With TLS 1.3 a refused certificate shows only here."""
    if not endpoint.encrypted:
        return plain.recv(1)
    context: ssl.SSLContext = endpoint.security.get_connection_args("client")["ssl_context"]
    with context.wrap_socket(plain, server_hostname=endpoint.host) as encrypted:
        return encrypted.recv(1)


def _refusal(at: str, reason: str) -> str:
    if "CERTIFICATE_EXPIRED" in reason:
        return (
            f"the scheduler at {at} says that your certificate has expired. Issue a new one "
            "(pytest-ngraph cluster certs) and restart what uses it."
        )
    if "ALERT" in reason:
        return f"the scheduler at {at} refuses your certificate ({reason.lower().replace('_', ' ')}). {CERTIFICATES}"
    return (
        f"{at} does not speak TLS ({reason.lower().replace('_', ' ')}): it was started without certificates. "
        "Start it with --tls-ca, --tls-cert and --tls-key."
    )
