#!/usr/bin/env bash
# Builds wheel and sdist, installs each into an empty environment and uses it from outside the tree.
#   tools/wheel.sh [PYTHON]        PIP_ARGS="--constraint constraints.txt" by default
set -euo pipefail
cd "$(dirname "$0")/.."
python="${1:-python3}"
work="$(mktemp -d)"
trap 'rm -rf "$work"' EXIT

"$python" -m venv "$work/build"
"$work/build/bin/python" -m pip install --quiet 'hatchling>=1.27'
"$work/build/bin/hatchling" build -d "$work/dist" >/dev/null
ls "$work/dist"

smoke() {
  cd "$work"
  "$work/use/bin/python" - <<'PY'
import importlib.util, pathlib
folder = pathlib.Path(importlib.util.find_spec("coverjax").origin).parent
assert "site-packages" in str(folder), folder
for name in ("py.typed", "__init__.pyi", "report/templates/report.html"):
    assert (folder / name).exists(), name
import coverjax as cj
assert cj.estimate(cj.SampleLog.from_arrays([[[1, 0], [0, 1]]])).coverage.round(9).tolist() == [[0.5, 1.0]]
PY
  "$work/use/bin/coverjax" --version
  printf 'input,sample,strategies\nx,0,a\nx,1,a|b\ny,0,\ny,1,b\n' > log.csv
  "$work/use/bin/coverjax" estimate log.csv --out report > /dev/null
  "$work/use/bin/coverjax" exact --family zipf --strategies 4 --budget 6 --out law > /dev/null
  for file in report/report.html report/summary.json report/coverage.svg law/report.html; do test -s "$file"; done
  rm -r report law
  cd - > /dev/null
}

"$python" -m venv "$work/use"
# shellcheck disable=SC2086
"$work/use/bin/python" -m pip install ${PIP_ARGS---constraint constraints.txt} "$work"/dist/*.whl
smoke
"$work/use/bin/python" -m pip uninstall --quiet --yes coverjax
"$work/use/bin/python" -m pip install --quiet --no-deps "$work"/dist/*.tar.gz
smoke
echo "wheel and sdist work"
