/** `repo validate` runs the code of Python models up to the end of `initialize`, as a server does. */
import assert from 'node:assert/strict';
import { chmodSync } from 'node:fs';
import { after, describe, test } from 'node:test';
import { pythonWithNumpy } from '../support/programs/python.js';
import { runTritonSync } from '../support/programs/run-triton.js';
import { makeRepository } from '../support/repositories/make-repository.js';

const python = pythonWithNumpy();

const CONFIG = `backend: "python"
input { name: "I" data_type: TYPE_FP32 dims: 4 }
output { name: "O" data_type: TYPE_FP32 dims: 4 }
`;
const HEAD = `import os, time
import triton_python_backend_utils as pb_utils
class TritonPythonModel:
    def execute(self, requests): return []
`;

const root = makeRepository({});
after(root.remove);

/** Makes a repository of Python models by name, each with these methods; returns its path. */
function models(repository: string, methods: Readonly<Record<string, string>>, config = CONFIG): string {
  for (const [name, body] of Object.entries(methods)) {
    root.write({
      [`${repository}/${name}/config.pbtxt`]: config,
      [`${repository}/${name}/1/model.py`]: `${HEAD}${body}\n`,
    });
  }
  return root.file(repository);
}

interface Report {
  readonly errors: number;
  readonly warnings: number;
  readonly notRun: number;
  readonly findings: readonly {
    readonly severity: string;
    readonly rule: string;
    readonly model: string;
    readonly message: string;
    readonly line?: number;
    readonly remedy: string;
  }[];
}

function validate(repository: string, ...args: string[]) {
  const env = { TRITON_PYTHON: python };
  const run = runTritonSync(['repo', 'validate', repository, '--format', 'json', ...args], { env });
  const report = JSON.parse(run.stdout) as Report;
  const short = report.findings.map(({ severity, rule, model }) => `${severity} ${model} ${rule}`);
  return { ...run, report, short };
}

describe('initialize of Python models', { skip: python === undefined }, () => {
  test('gets what a server gives it, may make metrics, and finalize follows', () => {
    const repository = models('good', {
      args: `    def initialize(self, args):
        assert args["model_instance_name"] == "args_0" and args["model_instance_kind"] == "CPU", args
        assert args["model_version"] == "1" and args["model_repository"].endswith("/args"), args
        assert '"name":"args"' in args["model_config"].replace(" ", ""), args
        print("initialised")
    def finalize(self):
        print("finalised")`,
      metrics: `    def initialize(self, args):
        family = pb_utils.MetricFamily(name="runs", description="d", kind=pb_utils.MetricFamily.COUNTER)
        metric = family.Metric(labels={"a": "b"})
        metric.increment(2)
        assert metric.value() == 2.0
        histogram = pb_utils.MetricFamily(name="times", description="d", kind=pb_utils.MetricFamily.HISTOGRAM)
        histogram.Metric(labels={}, buckets=[1, 2]).observe(1.5)
        pb_utils.Logger.log_info("made")`,
      late_end: '    def finalize(self): raise ValueError("too late to matter")',
    });
    const { status, short, stderr } = validate(repository);
    assert.deepEqual([status, short], [0, []]);
    assert.match(stderr, /initialised\nfinalised\n/);
  });

  test('an exception, the end of the process and the end of the time are errors', () => {
    const repository = models('bad', {
      dies: '    def initialize(self, args): os._exit(3)',
      raises: '    def initialize(self, args): raise ValueError("no weights")',
      refused_metric:
        '    def initialize(self, args): pb_utils.MetricFamily(name="a-b", description="d", kind=pb_utils.MetricFamily.GAUGE)',
      slow: '    def initialize(self, args): time.sleep(60)',
    });
    const { status, short, report } = validate(repository, '--initialize-timeout', '3');
    const rule = 'python-initialize';
    assert.equal(status, 1);
    assert.deepEqual(
      short,
      ['dies', 'raises', 'refused_metric', 'slow'].map((name) => `error ${name} ${rule}`),
    );
    const [dies, raises, metric, slow] = report.findings;
    assert.equal(dies?.message, "Stub process 'dies_0' is not healthy.");
    assert.match(raises?.message ?? '', /^ValueError: no weights\n\nAt:\n.*\/raises\/1\/model\.py\(5\): initialize/);
    assert.equal(raises?.line, 5);
    assert.match(metric?.message ?? '', /Error when creating MetricFamily: .* message: Invalid metric name/);
    assert.match(slow?.message ?? '', /^model 'slow' was not initialised within 3 s: .* --initialize-timeout$/);
    for (const { remedy } of report.findings) assert.ok(remedy.length > 0);
  });

  test('what only a server can do is taken as done and is a warning, a failure after it too', () => {
    const repository = models('needs', {
      fails: '    def initialize(self, args):\n        pb_utils.load_model("other")\n        raise ValueError("no")',
      waits: '    def initialize(self, args):\n        while not pb_utils.is_model_ready("x"): time.sleep(1)',
    });
    const { status, short, report } = validate(repository);
    const rule = 'python-needs-server';
    assert.deepEqual([status, short], [0, [`warning fails ${rule}`, `warning waits ${rule}`]]);
    assert.match(report.findings[0]?.message ?? '', /load_model\('other'\).* Then it failed: ValueError: no/s);
  });

  test('--no-run says how many models were not run, in every form', () => {
    const repository = models('unrun', { a: '    def initialize(self, args): os._exit(3)', b: '' });
    const { status, report } = validate(repository, '--no-run');
    assert.deepEqual([status, report.notRun, report.errors], [0, 2, 0]);
    const printed = (format: string) =>
      runTritonSync(['repo', 'validate', repository, '--no-run', '--format', format]).stdout;
    const words = 'the code of 2 models was not run (--no-run), so that a server may still refuse them';
    for (const format of ['text', 'github', 'sarif']) assert.ok(printed(format).includes(words), format);
  });

  test('the code of a backend that is a Python model is run with the models of that backend', () => {
    const repository = models('of-backend', { m: '' }, CONFIG.replace('"python"', '"mine"'));
    const body = '    def initialize(self, args): raise ValueError(args["model_name"])';
    root.write({ 'backends/mine/model.py': `${HEAD}${body}\n` });
    const { short, report } = validate(repository, '--backend-directory', root.file('backends'));
    assert.deepEqual(short, ['error m python-initialize']);
    assert.match(report.findings[0]?.message ?? '', /^ValueError: m/);
  });
});

test('no Python, and a Python without numpy, are an error with what a server says', {
  skip: python === undefined,
}, () => {
  const repository = models('lacking', { a: '', b: '' });
  // Without `site` the interpreter finds no installed packages.
  root.write({ 'bare/python': `#!/bin/sh\nexec '${python}' -S -E "$@"\n` });
  chmodSync(root.file('bare/python'), 0o755);
  const cases: readonly (readonly [executable: string, text: RegExp])[] = [
    [root.file('bare/python'), /^Python models need numpy, and .* cannot import it .* \(this concerns 2 models\)$/],
    [root.file('none/python'), /^Python models need a Python interpreter, .* \(this concerns 2 models\)$/],
  ];
  for (const [executable, text] of cases) {
    const { status, report } = validate(repository, `--backend-config=python,python-executable=${executable}`);
    assert.deepEqual([status, report.errors], [1, 1]);
    assert.match(report.findings[0]?.message ?? '', text);
  }
});
