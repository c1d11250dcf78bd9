# docker build -t vernal .          docker run --rm -v "$PWD:/models" vernal check task.toml
FROM python:3.12-slim AS build
COPY . /source
RUN python -m venv /opt/vernal && /opt/vernal/bin/pip install --no-cache-dir /source

FROM python:3.12-slim
COPY --from=build /opt/vernal /opt/vernal
RUN useradd --create-home vernal && mkdir /models && chown vernal /models
USER vernal
WORKDIR /models
ENV PATH=/opt/vernal/bin:$PATH MPLCONFIGDIR=/tmp/matplotlib
ENTRYPOINT ["vernal"]
CMD ["--help"]
