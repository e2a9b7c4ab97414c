# syntax=docker/dockerfile:1

# The images of agentry, with its program for charts, and of the sd-aggregator: static programs on distroless, for any platform that Go knows.
#
#   docker buildx build --target sd-aggregator --platform linux/amd64,linux/arm64 -t REGISTRY/sd-aggregator:TAG --push .
#   docker buildx build --target agentry       --platform linux/amd64,linux/arm64 -t REGISTRY/agentry:TAG --push .
#
# There is no git in them: agentry speaks its protocols itself, and only file:// remotes would need it.

# Both are tags, and the provenance of an image says which digests they had. `make pin-images` adds those of now.
ARG GO_IMAGE=golang:1.26-bookworm
ARG BASE_IMAGE=gcr.io/distroless/static-debian12:nonroot

# Compiles on the builder's own platform for the image's: nothing is emulated.
FROM --platform=$BUILDPLATFORM ${GO_IMAGE} AS build
WORKDIR /src
COPY go.mod go.sum ./
# Where Go modules come from, if not from proxy.golang.org.
ARG GOPROXY
RUN --mount=type=cache,target=/go/pkg/mod go mod download
ARG TARGETOS
ARG TARGETARCH
ARG TARGETVARIANT
# Go takes the version from .git, which belongs to somebody else in here.
ENV CGO_ENABLED=0 GIT_CONFIG_COUNT=1 GIT_CONFIG_KEY_0=safe.directory GIT_CONFIG_VALUE_0=/src
RUN --mount=type=bind,target=/src \
    --mount=type=cache,target=/go/pkg/mod \
    --mount=type=cache,target=/root/.cache/go-build \
    GOOS=$TARGETOS GOARCH=$TARGETARCH GOARM=${TARGETVARIANT#v} \
    go build -trimpath -tags urfave_cli_no_docs -ldflags="-s -w" -o /out/ ./cmd/...
# The licences of everything that is linked: they must go with every copy.
RUN --mount=type=bind,target=/src \
    --mount=type=cache,target=/go/pkg/mod \
    --mount=type=cache,target=/root/.cache/go-build \
    mkdir /licenses && cp LICENSE /licenses/ && \
    GOOS=$TARGETOS GOARCH=$TARGETARCH go list -deps -json ./cmd/... > /tmp/packages.json && \
    go run ./internal/notices "$(go env GOROOT)" < /tmp/packages.json > /licenses/THIRD-PARTY-NOTICES.txt

FROM ${BASE_IMAGE} AS base
LABEL org.opencontainers.image.source="https://github.com/agentry-dev/agentry" \
      org.opencontainers.image.licenses="Apache-2.0"
# By number, so that Kubernetes sees that it is not root.
USER 65532:65532

FROM base AS sd-aggregator
LABEL org.opencontainers.image.title="sd-aggregator" \
      org.opencontainers.image.description="One http_sd document for every running integration of Grafana Agents"
COPY --from=build /licenses /licenses
COPY --from=build /out/sd-aggregator /sd-aggregator
EXPOSE 8080 8081
ENTRYPOINT ["/sd-aggregator"]

FROM base AS agentry
LABEL org.opencontainers.image.title="agentry" \
      org.opencontainers.image.description="Renders Grafana Agent Operator custom resources from Git to Git"
COPY --from=build /licenses /licenses
COPY --from=build /out/agentry /out/agentry-charts /out/agentry-sops /
EXPOSE 9292 9393
ENTRYPOINT ["/agentry"]
