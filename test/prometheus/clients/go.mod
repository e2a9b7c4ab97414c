// Without requirements, so that it changes no version of the programs.
module github.com/agentry-dev/agentry/test/prometheus/clients

go 1.26.0
