# Built where it has a compiler, run where it has nothing: no shell, no package manager, no root.
FROM rust:1.95-bookworm AS build
WORKDIR /src
COPY . .
RUN cargo build --locked --profile dist && cp target/dist/toolpact /toolpact && /toolpact self-test && mkdir /data

FROM gcr.io/distroless/cc-debian12:nonroot
LABEL org.opencontainers.image.title="toolpact" \
      org.opencontainers.image.description="Governance catalog and contract-diff service for MCP tools" \
      org.opencontainers.image.licenses="Apache-2.0"
COPY --from=build /toolpact /usr/local/bin/toolpact
# The database of `serve`; mount a volume there, or name one with DATABASE_URL. A new volume belongs to whom the folder does.
COPY --from=build --chown=nonroot:nonroot /data /data
ENV XDG_DATA_HOME=/data
VOLUME /data
EXPOSE 7878
ENTRYPOINT ["/usr/local/bin/toolpact"]
CMD ["--help"]
