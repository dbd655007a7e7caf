#!/usr/bin/env bash
# install_command.sh INFEED_BUILD_FOLDER WORK_FOLDER: the installed command runs where it was moved to,
# has its manual pages and completions, and is all that its component installs.
set -euo pipefail
infeed_build=$1 work=$2

fail() {
  echo "$*"
  exit 1
}

rm -rf "$work"
cmake --install "$infeed_build" --prefix "$work/before" --component infeed_runtime >/dev/null
mv "$work/before" "$work/prefix"
# The plug-in for mpirun is there where the build found MPI.
found="$(cd "$work/prefix" && find . -type f ! -name libinfeed_mpi.so | sort)"
pages='./share/man/man1/infeed-[a-z]*'
[[ "$(grep -v "^$pages\.1$" <<<"$found")" == $'./bin/infeed
./share/bash-completion/completions/infeed
./share/man/man1/infeed.1
./share/zsh/site-functions/_infeed' ]] || fail "the component infeed_runtime installs: $found"

export PATH="$work/prefix/bin:$PATH"
cd "$work"
[[ $(command -v infeed) == "$work/prefix/bin/infeed" ]] || fail "infeed is not found on the PATH"
version="$(infeed --version)"
[[ $version == 'infeed '[0-9]* ]] || fail "infeed --version printed: $version"
readelf -d prefix/bin/infeed | grep -E 'R(UN)?PATH' && fail "the installed program looks for libraries in a folder of the build"
printf 'a,b\n1,2\n' >table.csv
infeed convert table.csv -o shards --shards 1 >/dev/null || fail "the installed command converts nothing"
infeed verify shards >/dev/null || fail "the installed command verifies nothing"

man=prefix/share/man/man1
cmp $man/infeed.1 <(infeed help --man) || fail "the manual page is not what the program says"
commands="$(sed -n 's/^\.BR infeed.-\([a-z]*\) (1)$/\1/p' $man/infeed.1)"
[[ $(wc -l <<<"$commands") -gt 10 ]] || fail "the manual page names hardly any commands: $commands"
for command in $commands; do
  cmp "$man/infeed-$command.1" <(infeed help "$command" --man) || fail "infeed-$command.1 is not what the program says"
done
[[ $(find $man -name 'infeed-*' | wc -l) == "$(wc -l <<<"$commands")" ]] || fail "there are pages of no command"
if command -v groff >/dev/null; then
  warnings="$(groff -man -ww -z $man/*.1 2>&1)"
  [[ -z $warnings ]] || fail "groff says of the manual pages: $warnings"
fi

cmp prefix/share/bash-completion/completions/infeed <(infeed completion bash) || fail "bash's completion is another one"
cmp prefix/share/zsh/site-functions/_infeed <(infeed completion zsh) || fail "zsh's completion is another one"
! command -v zsh >/dev/null || zsh -n prefix/share/zsh/site-functions/_infeed || fail "zsh can't read its completion"
! command -v shellcheck >/dev/null || shellcheck -s bash prefix/share/bash-completion/completions/infeed ||
  fail "shellcheck has something to say of bash's completion"
