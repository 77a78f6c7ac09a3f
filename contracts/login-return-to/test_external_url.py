"""Host-supplied: an external address is refused and leads nowhere, before the fix and after it."""

from __future__ import annotations

import pytest
from flask.testing import FlaskClient


@pytest.mark.parametrize("address", ["https://evil.example", "//evil.example/billing", "/\\evil.example"])
def test_external_address_is_refused_and_leads_nowhere(client: FlaskClient, address: str) -> None:
    refused = client.get("/login", query_string={"user": "ada", "returnTo": address})
    assert refused.status_code == 400
    assert refused.location is None
    entry = client.get("/login?user=ada")
    granted = client.get(entry.location or "")
    assert client.get(granted.location or "").location == "/"
