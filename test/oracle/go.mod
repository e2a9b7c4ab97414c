// Without requirements, so that it changes no version of the programs.
module github.com/agentry-dev/agentry/test/oracle

go 1.26.0
