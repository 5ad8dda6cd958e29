"""Replacement of the configured sources of services that are in use."""

from pathlib import Path

from datasphinx.agent.server.tenants import TenantServices, UserServices
from datasphinx.agent.services import Services
from datasphinx.agent.settings import SourceSettings, TenantSettings, load_settings
from tests.support.databases import make_table, url


def source(folder: Path, name: str) -> SourceSettings:
    (folder / name).mkdir()
    return SourceSettings.model_validate(url(make_table(folder / name, "size INTEGER", [[1]], table=name)))


def test_a_source_that_was_replaced_while_it_was_opened_is_opened_again(tmp_path: Path, cache_dir: Path) -> None:
    moons, stars = source(tmp_path, "moons"), source(tmp_path, "stars")
    opened: list[SourceSettings] = []

    def opening(_: str, settings: SourceSettings) -> None:
        opened.append(settings)
        services.replace_sources({"sky": stars})

    services = Services(load_settings(cache_dir=cache_dir, sources={"sky": moons}), opening=opening)

    assert list(services.source("sky").catalog.tables) == ["moons"]
    assert list(services.source("sky").catalog.tables) == ["stars"]
    assert opened == [moons, stars]


def test_users_of_tokens_keep_their_row_parameters(tmp_path: Path, cache_dir: Path) -> None:
    moons, stars = source(tmp_path, "moons"), source(tmp_path, "stars")
    server = Services(load_settings(cache_dir=cache_dir, sources={"sky": moons}), any_source=False)
    tenant = TenantServices(server, "acme", TenantSettings())
    users = UserServices(tenant, {"region": "north"})

    tenant.replace_sources({"sky": moons, "more": stars})
    users.adopt_sources()

    assert list(users.settings.sources) == ["sky", "more"]
    assert users.settings_of("more").url == stars.url
    assert [each.row_parameters for each in users.settings.sources.values()] == [{"region": "north"}] * 2
