#!/usr/bin/env python3
"""Compares the configurations that `triton repo validate --show-effective` prints with Triton's responses:
every case of check_repository.py that loads and whose completed configuration was recorded, Triton's own
configuration cases included.

usage: check_effective.py RECORDINGS --validate 'triton repo validate {repo} --format json --show-effective {args}'
                          [--json FILE] [--jobs N]
"""
import argparse, concurrent.futures, importlib.util, json, os, re, shutil, subprocess, sys, tempfile, threading

parser = argparse.ArgumentParser()
parser.add_argument("recordings")
parser.add_argument("--validate", required=True)
parser.add_argument("--json")
parser.add_argument("--jobs", type=int, default=1)
options = parser.parse_args()

spec = importlib.util.spec_from_file_location("check_repository", os.path.join(options.recordings, "check_repository.py"))
runner = importlib.util.module_from_spec(spec)
spec.loader.exec_module(runner)
work = os.path.realpath(tempfile.mkdtemp(prefix="check_effective."))


def cases():
    given = argparse.Namespace(cases=None, config_cases=None, config_list=None)
    if not os.path.isdir(os.path.join(options.recordings, "..", "data", "config_cases")):
        given.config_cases = ""
    for case in runner.all_cases(given):
        if case.section in ("config", "onnx", "original") and case.loads:
            if case.section == "original" or "config" in case.data or "expected_config.json" in case.data:
                yield case


def effective(case, folder):
    for path, data in sorted(case.models.items()):
        runner.put(os.path.join(folder, path), data)
    command = runner.expand(options.validate, [folder], case.arguments)
    run = subprocess.run(command, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE, timeout=120)
    models = {m["model"]: m["config"] for m in json.loads(run.stdout.decode())["effective"]}
    return models.get(case.model)


def check(case):
    folder = os.path.join(work, re.sub(r"\W", "_", case.name))
    try:
        got = effective(case, folder)
        if got is None:
            return ["no configuration is shown"]
        if case.section == "original":
            results = [runner.original_difference(text, got) for text in case.data["expected"]]
            return [] if [] in results else results[0]
        text = case.models.get(case.model + "/config.pbtxt", b"").decode()
        by_name = () if case.section == "config" else [
            k for k in ("input", "output") if not re.search(r"\b%s\s*[\[{:]" % k, text)]
        want = json.loads(case.data.get("config") or case.data["expected_config.json"])
        return runner.difference(want, got, {"<repository>": folder, "<cwd>/": ""}, "", by_name)
    except Exception as error:
        return ["%s: %s" % (type(error).__name__, error)]
    finally:
        shutil.rmtree(folder, ignore_errors=True)


results, lock = [], threading.Lock()


def run(case):
    differences = check(case)
    with lock:
        results.append({"name": case.name, "result": "failed" if differences else "passed", "differences": differences})
        if differences:
            print("FAIL %s" % case.name)
            for text in differences[:3]:
                print("     " + text[:400])


try:
    with concurrent.futures.ThreadPoolExecutor(options.jobs) as pool:
        list(pool.map(run, cases()))
finally:
    shutil.rmtree(work, ignore_errors=True)
if options.json:
    with open(options.json, "w") as file:
        json.dump(sorted(results, key=lambda row: row["name"]), file)
failed = sum(row["result"] == "failed" for row in results)
print("%d passed, %d failed" % (len(results) - failed, failed))
sys.exit(1 if failed else 0)
