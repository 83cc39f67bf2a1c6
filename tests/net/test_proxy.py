from __future__ import annotations

import pytest

from rayward.net.proxy import check_proxy_url, proxy_authorization, proxy_from_environment


@pytest.mark.parametrize(
    ("url", "environ", "proxy"),
    [
        pytest.param("https://a.example", {}, None, id="none"),
        pytest.param("https://a.example", {"HTTPS_PROXY": "http://p:1"}, "http://p:1", id="https"),
        pytest.param("https://a.example", {"https_proxy": "p:1"}, "http://p:1", id="lower case, no scheme"),
        pytest.param("https://a.example", {"HTTP_PROXY": "http://p:1"}, None, id="for http only"),
        pytest.param("http://a.example", {"HTTP_PROXY": "http://p:1"}, "http://p:1", id="http"),
        pytest.param("https://127.0.0.1:6443", {"HTTPS_PROXY": "http://p:1"}, None, id="loopback address"),
        pytest.param("https://localhost:6443", {"HTTPS_PROXY": "http://p:1"}, None, id="loopback name"),
        pytest.param("https://[::1]:6443", {"HTTPS_PROXY": "http://p:1"}, None, id="loopback, version 6"),
        *(
            pytest.param("https://a.example:8443", {"HTTPS_PROXY": "http://p:1", "NO_PROXY": rule}, proxy, id=rule)
            for rule, proxy in [
                ("*", None),
                ("a.example", None),
                ("example", None),
                (".example", None),
                ("*.example", None),
                ("x.y, a.example", None),
                ("a.example:8443", None),
                ("a.example:1", "http://p:1"),
                ("xample", "http://p:1"),
                ("b.a.example", "http://p:1"),
                (",", "http://p:1"),
            ]
        ),
        pytest.param("https://10.1.2.3", {"HTTPS_PROXY": "http://p:1", "NO_PROXY": "10.0.0.0/8"}, None, id="range"),
        pytest.param(
            "https://11.1.2.3", {"HTTPS_PROXY": "http://p:1", "NO_PROXY": "10.0.0.0/8"}, "http://p:1", id="other range"
        ),
        pytest.param(
            "https://a.example", {"HTTPS_PROXY": "http://p:1", "NO_PROXY": "10.0.0.0/x"}, "http://p:1", id="bad range"
        ),
    ],
)
def test_the_environment_names_a_proxy(url: str, environ: dict[str, str], proxy: str | None) -> None:
    assert proxy_from_environment(url, environ) == proxy


@pytest.mark.parametrize("url", ["socks5://p:1", "p:1", "http://", "ftp://p"])
def test_other_proxies_are_refused(url: str) -> None:
    with pytest.raises(ValueError, match="only http:// and https:// proxies"):
        check_proxy_url(url)


@pytest.mark.parametrize(
    ("proxy", "header"),
    [("http://p:1", None), ("http://me@p:1", "Basic bWU6"), ("http://me:a%20b@p:1", "Basic bWU6YSBi")],
    ids=str,
)
def test_the_user_of_a_proxy(proxy: str, header: str | None) -> None:
    assert proxy_authorization(proxy) == header
