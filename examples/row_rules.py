"""Restrict the rows of a source: every statement sees only the customers of one region."""

from datasphinx import Agent
from datasphinx.agent.sample.shop import shop_url
from datasphinx.agent.settings import SourceSettings, load_settings

shop = SourceSettings(
    url=shop_url(load_settings().cache_dir),
    row_rules={"customers": "region_id = :region"},
    row_parameters={"region": 1},
)
settings = load_settings().model_copy(update={"sources": {"shop": shop}})
print(Agent("shop", settings=settings).chat("How many customers are there?").value)
