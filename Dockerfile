# The server, for any number of processes on one PostgreSQL. Settings and secrets come with the environment: the image
# has none. See docs/operations.md.
FROM python:3.11-slim-bookworm AS build
COPY --from=ghcr.io/astral-sh/uv:0.13 /uv /usr/local/bin/uv
WORKDIR /source
ENV UV_PROJECT_ENVIRONMENT=/opt/datasphinx \
    UV_PYTHON_DOWNLOADS=never \
    UV_LINK_MODE=copy \
    UV_NO_CACHE=1 \
    UV_COMPILE_BYTECODE=1 \
    EXTRAS="--extra serve --extra mcp --extra oidc --extra postgres --extra mysql --extra duckdb --extra analyst --extra charts --extra knowledge --extra semantic"
# Dependencies are a layer of their own: they change less often than the source.
COPY pyproject.toml uv.lock ./
RUN uv sync --locked --no-install-project $EXTRAS
COPY README.md LICENSE ./
COPY agent ./agent
COPY datasphinx ./datasphinx
COPY nodes ./nodes
COPY prompts ./prompts
RUN uv sync --locked --no-editable $EXTRAS

FROM python:3.11-slim-bookworm
RUN groupadd --system --gid 10001 datasphinx \
 && useradd --system --uid 10001 --gid datasphinx --no-create-home --home-dir /data --shell /usr/sbin/nologin datasphinx \
 && install --directory --owner=datasphinx --group=datasphinx --mode=0700 /data \
 && install --directory --mode=0755 /etc/datasphinx
COPY --from=build /opt/datasphinx /opt/datasphinx
ENV PATH=/opt/datasphinx/bin:$PATH \
    PYTHONDONTWRITEBYTECODE=1 \
    DATASPHINX_DATA_DIR=/data \
    DATASPHINX_CACHE_DIR=/data/cache \
    DATASPHINX_LOG_JSON=true
USER 10001:10001
# A datasphinx.toml is mounted here, outside of what the server can write.
WORKDIR /etc/datasphinx
VOLUME /data
EXPOSE 8000
STOPSIGNAL SIGTERM
HEALTHCHECK --interval=15s --timeout=10s --start-period=30s --retries=3 \
    CMD ["python", "-c", "import urllib.request as r; r.urlopen('http://127.0.0.1:8000/healthz', timeout=8)"]
CMD ["datasphinx", "serve", "--host", "0.0.0.0", "--port", "8000"]
