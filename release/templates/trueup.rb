class Trueup < Formula
  desc "@DESCRIPTION@"
  homepage "@REPOSITORY@"
  version "@VERSION@"
  license any_of: ["MIT", "Apache-2.0"]

  on_macos do
    on_arm do
      url "@URL@-aarch64-apple-darwin.tar.gz"
      sha256 "@SHA256:aarch64-apple-darwin.tar.gz@"
    end
    on_intel do
      url "@URL@-x86_64-apple-darwin.tar.gz"
      sha256 "@SHA256:x86_64-apple-darwin.tar.gz@"
    end
  end
  on_linux do
    on_arm do
      url "@URL@-aarch64-unknown-linux-musl.tar.gz"
      sha256 "@SHA256:aarch64-unknown-linux-musl.tar.gz@"
    end
    on_intel do
      url "@URL@-x86_64-unknown-linux-musl.tar.gz"
      sha256 "@SHA256:x86_64-unknown-linux-musl.tar.gz@"
    end
  end

  def install
    bin.install "trueup"
    man1.install "man/trueup.1"
    bash_completion.install "completions/trueup.bash" => "trueup"
    zsh_completion.install "completions/_trueup"
    fish_completion.install "completions/trueup.fish"
    doc.install "LICENSES-OF-DEPENDENCIES", "examples"
  end

  test do
    assert_match version.to_s, shell_output("#{bin}/trueup --version")
    system bin/"trueup", "apply", doc/"examples/03-repository", "--sandbox=#{testpath}/tenant.redb", "--yes",
           "--state", testpath
  end
end
