class Agentry < Formula
  desc "Renders Grafana Agent Operator custom resources from Git to Git"
  homepage "https://github.com/agentry-dev/agentry"
  version "{{.Version}}"
  license "Apache-2.0"
{{range .Systems}}
  {{.Block}} do
{{- range .Archives}}
    {{.Block}} do
      url "https://github.com/agentry-dev/agentry/releases/download/v{{$.Version}}/{{.Name}}"
      sha256 "{{.Sum}}"
    end
{{- end}}
  end
{{end}}
  def install
    bin.install "agentry", "agentry-charts", "agentry-sops"
    man1.install "agentry.1"
    generate_completions_from_executable(bin/"agentry", "completion")
  end

  test do
    assert_match version.to_s, shell_output("#{bin}/agentry version")
  end
end
