from __future__ import annotations

import pytest

from rayward.local.controllers import Published, standard

_PUBLISHED = Published("10.43.0.1", "192.0.2.1", 6443)


def test_the_service_listens_where_pods_expect_it() -> None:
    service = standard.service(_PUBLISHED)
    assert service["spec"]["clusterIP"] == "10.43.0.1"
    assert service["spec"]["ports"] == [{"name": "https", "port": 443, "protocol": "TCP", "targetPort": 6443}]


@pytest.mark.parametrize(("address", "family"), [("192.0.2.1", "IPv4"), ("2001:db8::1", "IPv6")], ids=["IPv4", "IPv6"])
def test_the_slice_leads_to_the_server(address: str, family: str) -> None:
    made = standard.endpoint_slice(Published("10.43.0.1", address, 6443))
    assert (made["addressType"], made["endpoints"][0]["addresses"]) == (family, [address])
    assert made["metadata"]["labels"] == {"kubernetes.io/service-name": "kubernetes"}


def test_no_second_slice_is_made_of_the_endpoints() -> None:
    made = standard.endpoints(_PUBLISHED)
    assert made["metadata"]["labels"] == {"endpointslice.kubernetes.io/skip-mirror": "true"}
    assert made["subsets"][0]["addresses"] == [{"ip": "192.0.2.1"}]


def test_the_authority_says_what_it_is_for() -> None:
    made = standard.authority("x", "PEM")
    assert made["data"] == {"ca.crt": "PEM"}
    assert made["metadata"]["annotations"]["kubernetes.io/description"].startswith(
        "Contains a CA bundle that can be used"
    )
