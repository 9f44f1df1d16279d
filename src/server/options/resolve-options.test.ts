import assert from 'node:assert/strict';
import { test } from 'node:test';
import { resolveOptions, serveHelp } from './resolve-options.js';
import { OPTION_TABLE, type ServerOptions } from './server-options.js';

function serve(...args: string[]): ServerOptions {
  const resolved = resolveOptions(args, () => {});
  assert.equal(resolved.kind, 'serve', resolved.kind === 'error' ? resolved.message : resolved.kind);
  return (resolved as { options: ServerOptions }).options;
}

function refusal(...args: string[]): string {
  const resolved = resolveOptions(args, () => {});
  assert.equal(resolved.kind, 'error', `${args.join(' ')} was taken`);
  const { message } = resolved as { message: string };
  assert.ok(message.endsWith(HINT) || message.startsWith('Failed to build'), message);
  return message.slice(0, message.endsWith(HINT) ? -HINT.length : undefined).trimEnd();
}

const HINT = "Run 'triton serve --help' for details.";

/** The line of an error in words of our own. */
const own = (what: string): string => `triton serve: ${what}.`;

const bad = (option: string, message: string): string => `Bad option: "--${option}".\n${message}`;

test('numbers of options that Triton does not have are whole, in range, and without a unit', () => {
  const bytes = 'bytes from 0 to 9007199254740991';
  const seconds = 'seconds from 0 to 2147483';
  const cases: [option: string, range: string, wrong: string[]][] = [
    ['request-memory-limit', bytes, ['1G', '-1', '1e9', '', '0.5', ' 1', '9007199254740992']],
    ['client-shm-region-limit', 'regions from 1 to 9007199254740991', ['0', '12abc', '-1']],
    ['response-memory-limit', bytes, ['1G', '-1']],
    ['stream-max-backlog', bytes, ['1MB', '-1']],
    ['grpc-max-inflated-size', 'bytes from 1 to 9007199254740991', ['0', '64M']],
    ['grpc-connection-max-backlog', 'bytes from 1 to 9007199254740991', ['0', '0.5']],
    ['grpc-read-timeout', 'milliseconds from 0 to 2147483647', ['60s', '-1', '2147483648']],
    ['grpc-write-timeout', 'milliseconds from 0 to 2147483647', ['1e3']],
    // A timer of Node that should wait longer than 2^31 - 1 ms would end at once.
    ['http-client-timeout', seconds, ['60s', '-1', '2147484']],
    ['model-completion-timeout', seconds, ['120s', '-5', '2147484']],
    ['model-unload-timeout', seconds, ['1.5', '2147484']],
  ];
  for (const [option, range, wrong] of cases) {
    for (const value of wrong) {
      const message = `--${option}: expected a whole number of ${range}, without a unit, got '${value}'`;
      assert.equal(refusal(`--${option}=${value}`), own(message));
    }
    const [low, high] = /from (\d+) to (\d+)/.exec(range)!.slice(1);
    for (const value of [low, high]) {
      const resolved = resolveOptions(['--model-repository=models', `--${option}=${value}`], () => {});
      assert.equal(resolved.kind, 'serve', `--${option}=${value}`);
    }
  }
});

test("bad values are refused with Triton's messages", () => {
  const cases: [args: string[], message: string][] = [
    [['--nope=3'], own("unrecognized option '--nope=3'")],
    [['-h'], own("invalid option -- 'h'")],
    [['--model-repository'], own("option '--model-repository' requires an argument")],
    [['--disable-auto-complete-config=true'], own("option '--disable-auto-complete-config' doesn't allow an argument")],
    [['word', 'other', '--model-repository=models'], 'Unexpected argument: word. It is not a directory of models.'],
    [['--', 'word'], 'Unexpected argument: word. It is not a directory of models.'],
    [['--http-po', 'x'], bad('http-port', 'Invalid option value. Got x')],
    [
      ['--exit-timeout-secs=99999999999'],
      bad('exit-timeout-secs', 'Provided option value is out of bound. Got 99999999999'),
    ],
    [['--allow-http='], bad('allow-http', 'invalid value for bool option:')],
    [['--allow-http=yes'], bad('allow-http', 'invalid value for bool option: yes')],
    [['--model-control-mode=auto'], bad('model-control-mode', 'invalid argument for --model-control-mode')],
    [['--log-format=iso8601'], bad('log-format', 'invalid argument for --log-format')],
    [['--rate-limit=on'], bad('rate-limit', 'invalid argument for --rate-limit')],
    [
      ['--grpc-infer-response-compression-level=max'],
      bad('grpc-infer-response-compression-level', 'invalid argument for --grpc_infer_response_compression_level'),
    ],
    [
      ['--grpc-infer-thread-count=1'],
      bad('grpc-infer-thread-count', 'invalid argument for --grpc_infer_thread_count. Must be in the range 2 to 128.'),
    ],
    [['--http-max-input-size=0'], bad('http-max-input-size', 'Error: --http-max-input-size must be greater than 0.')],
    [['--model-config-name='], bad('model-config-name', 'Error: empty argument for --model-config-name')],
    [
      ['--cuda-memory-pool-byte-size=x'],
      bad(
        'cuda-memory-pool-byte-size',
        'Cannot parse pair option due to incorrect number of inputs.--<pair option> argument requires format <first>:<second>. Found: x',
      ),
    ],
    [
      ['--backend-config=onnxruntime,=y'],
      bad('backend-config', "--backend-config option format is '<backend name>,<setting>=<value>'. Got onnxruntime,=y"),
    ],
    [
      ['--backend-config=,x=y'],
      bad(
        'backend-config',
        'No backend specified. --backend-config option format is <backend name>,<setting>=<value> or <setting>=<value>. Got ,x=y',
      ),
    ],
    [
      ['--cache-config=size=1'],
      bad(
        'cache-config',
        'No cache specified. --cache-config option format is <cache name>,<setting>=<value>. Got size=1',
      ),
    ],
    [['--trace-config=level=FOO'], bad('trace-config level', 'invalid value for trace level option: foo')],
    [['--trace-config=rate=x'], bad('trace-config rate', 'Invalid option value. Got x')],
    [
      ['--trace-config=foo,bar=1'],
      bad(
        'trace-config',
        'invalid value for trace mode option: foo. Available options are "triton" and "opentelemetry"',
      ),
    ],
    [
      ['--http-restricted-api=health:=b'],
      bad(
        'http-restricted-api',
        "--http-restricted-api option format is '<config name>:<setting>=<value>'. Got health:=b",
      ),
    ],
    [
      ['--grpc-restricted-protocol=nosuch:a=b'],
      bad('grpc-restricted-protocol', "unknown restricted protocol 'nosuch'"),
    ],
    [
      ['--http-restricted-api=health:a=b', '--http-restricted-api=health:c=d'],
      bad('http-restricted-api', "restricted api 'health' can not be specified in multiple config groups"),
    ],
    [['--metrics-config==x'], bad('metrics-config', '--metrics-config option format is <setting>=<value>. Got =x')],
    [['--load-model=a'], "Error: Use of '--load-model' requires setting '--model-control-mode=explicit' as well."],
    [
      ['--http-port=8120', '--grpc-port=8120'],
      'The server cannot listen to HTTP requests and GRPC requests at the same address and port 0.0.0.0:8120',
    ],
    [
      ['--allow-sagemaker=true', '--sagemaker-safe-port-range=9000-9100'],
      'The server cannot listen to HTTP requests at port 8000, allowed port range is [9000, 9100]',
    ],
    [
      ['--host-policy=a,foo=1'],
      "Failed to build Triton option:\nerror: setting host policy: Unsupported - Unsupported host policy setting 'foo' is specified, supported settings are 'numa-node', 'cpu-cores'",
    ],
    [
      ['--model-load-gpu-limit=0:2'],
      'Failed to build Triton option:\nerror: setting model load GPU limit: Invalid argument - expects limit fraction to be in range [0.0, 1.0], got 2.000000',
    ],
  ];
  for (const [args, message] of cases) assert.equal(refusal(...args), message, args.join(' '));
});

test('the first bad option of the line counts, also before an unknown one', () => {
  assert.equal(refusal('--allow-http=x', '--nope'), bad('allow-http', 'invalid value for bool option: x'));
  assert.equal(refusal('--nonsense-word', '--allow-http=x'), own("unrecognized option '--nonsense-word'"));
});

test('an option that is nearly right is answered with the right one', () => {
  assert.equal(
    refusal('--htp-port=1'),
    "triton serve: unrecognized option '--htp-port=1'. Did you mean '--http-port'?",
  );
  assert.equal(
    refusal('--model-repositry=x'),
    "triton serve: unrecognized option '--model-repositry=x'. Did you mean '--model-repository'?",
  );
});

test('an ambiguous prefix names what it may mean', () => {
  assert.match(
    refusal('--log'),
    /^triton serve: option '--log' is ambiguous; possibilities: '--log-verbose' '--log-info'/,
  );
});

test('values are read as Triton reads them', () => {
  const options = serve(
    '--model-repo=a',
    '--model-store',
    'b',
    '--http-port=1',
    '--http-port=0',
    '--exit-timeout-secs=12abc',
    '--log-verbose=true',
    '--model-control-mode=EXPLICIT',
    '--load-model=*',
    '--backend-config=onnxruntime,default-max-batch-size=7',
    '--backend-config=a=b=c',
    '--strict-readiness=OFF',
    '--rate-limit-resource=R1:10',
    '--trace-config=triton,file=/tmp/t',
    '--trace-config=level=TENSORS',
    '--trace-config=level=MIN',
  );
  assert.deepEqual(options.models.repositories, ['a', 'b']);
  assert.equal(options.http.port, 0);
  assert.equal(options.general.exitTimeoutSeconds, 12);
  assert.equal(options.log.verboseLevel, 1);
  assert.equal(options.models.controlMode, 'explicit');
  assert.deepEqual(options.models.loadModels, ['*']);
  assert.deepEqual(options.backends.config, [
    { backend: 'onnxruntime', key: 'default-max-batch-size', value: '7' },
    { backend: '', key: 'a', value: 'b=c' },
  ]);
  assert.equal(options.models.strictReadiness, false);
  assert.deepEqual(options.devices.rateLimitResources, [{ name: 'R1', count: 10, device: -1 }]);
  assert.deepEqual(options.trace.level, ['TIMESTAMPS', 'TENSORS']);
  assert.equal(options.trace.file, '/tmp/t');
});

test('--trace-config counts more than its deprecated forms, wherever it stands; a level OFF more than any other', () => {
  const { trace } = serve(
    '--trace-config=rate=5',
    '--trace-rate=7',
    '--trace-file=b',
    '--trace-config=triton,file=a',
    '--trace-count=3',
    '--trace-config=triton,log-frequency=2',
    '--trace-log-frequency=9',
    '--trace-level=TIMESTAMPS',
    '--trace-config=level=TENSORS',
  );
  assert.deepEqual(
    [trace.rate, trace.file, trace.count, trace.logFrequency, trace.level],
    [5, 'a', 3, 2, ['TIMESTAMPS', 'TENSORS']],
  );
  assert.deepEqual(serve('--trace-level=OFF', '--trace-config=level=TIMESTAMPS').trace.level, []);
  assert.deepEqual(serve('--trace-config=level=TIMESTAMPS', '--trace-config=level=OFF').trace.level, []);
});

test('--metrics-config: quantiles and switches; what is neither true nor false changes nothing', () => {
  const { metrics } = serve(
    '--metrics-config=summary_latencies=true',
    '--metrics-config=histogram_latencies=yes',
    '--metrics-config=summary_quantiles=0.5:0.05,x:1,0.99:0.001',
  );
  assert.deepEqual([metrics.summaryLatencies, metrics.histogramLatencies], [true, false]);
  assert.deepEqual(metrics.summaryQuantiles, [0.5, 0.99]);
  assert.deepEqual(metrics.quantileFaults, ['Invalid option: [x:1]. Error: stod']);
});

test('the metrics address follows the HTTP address unless it is given', () => {
  assert.equal(serve('--http-address=127.0.0.1').metrics.address, '127.0.0.1');
  assert.equal(serve('--http-address=127.0.0.1', '--metrics-address=::1').metrics.address, '::1');
});

test('ports that are 0 never collide', () => {
  assert.equal(serve('--http-port=0', '--grpc-port=0', '--metrics-port=0').grpc.port, 0);
});

test('TLS needs its switch and its files', () => {
  assert.equal(serve('--grpc-server-cert=x', '--grpc-server-key=y').grpc.tls, undefined);
  assert.equal(serve('--grpc-use-ssl=false').grpc.tls, undefined);
  assert.match(refusal('--grpc-use-ssl=true'), /needs --grpc-server-cert and --grpc-server-key/);
  const secure = serve('--grpc-use-ssl=true', '--grpc-server-cert=x', '--grpc-server-key=y').grpc.tls;
  assert.deepEqual(secure, { certificate: 'x', key: 'y', rootCertificates: '', mutual: false });
});

test('deprecated options warn and work', () => {
  const warnings: string[] = [];
  const resolved = resolveOptions(['--strict-model-config=true', '--trace-rate=5'], (line) => warnings.push(line));
  assert.equal(resolved.kind === 'serve' && resolved.options.models.autoComplete, false);
  assert.equal(resolved.kind === 'serve' && resolved.options.trace.rate, 5);
  assert.deepEqual(warnings, [
    "Warning: '--strict-model-config' has been deprecated! Please use '--disable-auto-complete-config' instead.",
    "Warning: '--trace-rate' has been deprecated and will be removed in future releases. Please use '--trace-config rate=<rate value> instead.",
  ]);
});

test('the help text names every option once', () => {
  const text = serveHelp();
  for (const { name } of OPTION_TABLE) assert.ok(text.includes(`  --${name}`), name);
  assert.equal(new Set(OPTION_TABLE.map(({ name }) => name)).size, OPTION_TABLE.length);
});

/** Every option of Triton with a value that it takes. */
const OF_TRITON: Readonly<Record<string, string>> = {
  ...{
    id: 'x',
    'exit-timeout-secs': '5',
    'log-verbose': '1',
    'log-info': 'true',
    'log-warning': 'on',
    'log-error': '1',
  },
  ...{ 'log-format': 'ISO8601', 'log-file': '', 'model-store': 'm', 'model-repository': 'm', 'exit-on-error': 'off' },
  ...{ 'disable-auto-complete-config': '', 'strict-readiness': 'false', 'model-control-mode': 'EXPLICIT' },
  ...{ 'repository-poll-secs': '3', 'load-model': 'a', 'model-config-name': 'c', 'model-load-thread-count': '2' },
  ...{ 'model-load-retry-count': '1', 'model-namespacing': 'true', 'enable-peer-access': 'true', 'allow-http': 'true' },
  ...{ 'http-address': '::1', 'http-port': '1', 'reuse-http-port': 'false', 'http-header-forward-pattern': 'x' },
  ...{
    'http-thread-count': '8',
    'http-max-input-size': '9',
    'http-restricted-api': 'health:a=b',
    'allow-grpc': 'true',
  },
  ...{ 'grpc-address': '::1', 'grpc-port': '2', 'reuse-grpc-port': 'false', 'grpc-header-forward-pattern': 'x' },
  ...{ 'grpc-infer-thread-count': '2', 'grpc-infer-allocation-pool-size': '8', 'grpc-max-response-pool-size': '1' },
  ...{ 'grpc-use-ssl': 'false', 'grpc-use-ssl-mutual': 'false', 'grpc-server-cert': 'c', 'grpc-server-key': 'k' },
  ...{ 'grpc-root-cert': 'r', 'grpc-infer-response-compression-level': 'low', 'grpc-keepalive-time': '1' },
  ...{ 'grpc-keepalive-timeout': '1', 'grpc-keepalive-permit-without-calls': 'true' },
  ...{ 'grpc-http2-max-pings-without-data': '1', 'grpc-http2-min-recv-ping-interval-without-data': '1' },
  ...{ 'grpc-http2-max-ping-strikes': '1', 'grpc-max-connection-age': '1', 'grpc-max-connection-age-grace': '1' },
  ...{ 'grpc-restricted-protocol': 'health:a=b', 'allow-sagemaker': 'false', 'sagemaker-port': '8080' },
  ...{ 'sagemaker-safe-port-range': '1-9', 'sagemaker-thread-count': '8', 'allow-vertex-ai': 'false' },
  ...{
    'vertex-ai-port': '8080',
    'vertex-ai-thread-count': '8',
    'vertex-ai-default-model': 'm',
    'allow-metrics': 'true',
  },
  ...{ 'allow-gpu-metrics': 'true', 'allow-cpu-metrics': 'true', 'metrics-address': '::1', 'metrics-port': '3' },
  ...{ 'metrics-interval-ms': '2000', 'metrics-config': 'counter_latencies=true', 'trace-config': 'rate=5' },
  ...{ 'backend-directory': 'b', 'backend-config': 'onnxruntime,a=b', 'repoagent-directory': 'r' },
  ...{ 'cache-config': 'local,size=1048576', 'cache-directory': 'c', 'rate-limit': 'execution_count' },
  ...{ 'rate-limit-resource': 'R:1', 'pinned-memory-pool-byte-size': '1', 'cuda-memory-pool-byte-size': '0:1' },
  ...{ 'cuda-virtual-address-size': '0:1', 'min-supported-compute-capability': '6.0' },
  ...{ 'buffer-manager-thread-count': '0', 'host-policy': 'p,numa-node=0', 'model-load-gpu-limit': '0:0.5' },
  ...{ 'allow-client-shm': 'true', 'strict-model-config': 'false', 'trace-file': 'f', 'trace-level': 'OFF' },
  ...{ 'trace-rate': '1', 'trace-count': '1', 'trace-log-frequency': '0' },
};

test('every option of Triton is taken; those that change nothing say why in one line', () => {
  const args = Object.entries(OF_TRITON).flatMap(([name, value]) =>
    name === 'disable-auto-complete-config' ? [`--${name}`] : [`--${name}`, value],
  );
  const { notes } = serve(...args);
  assert.ok(notes.includes('--http-thread-count has no effect: one event loop serves all connections'));
  for (const { name, note, help } of OPTION_TABLE) {
    if (note === undefined || !Object.hasOwn(OF_TRITON, name)) continue;
    assert.ok(notes.includes(`--${name} has no effect: ${note}`), name);
    assert.ok(help.includes(`Accepted without effect: ${note}.`), name);
    assert.doesNotMatch(note, /\n/);
  }
  assert.equal(serve('--http-thread-count=8', '--http-thread-count=9').notes.length, 1);
  assert.deepEqual(serve('--model-repository=m').notes, []);
});

test('endpoints that are not here are refused with what to use instead', () => {
  assert.match(
    refusal('--allow-sagemaker=true'),
    /^triton serve: --allow-sagemaker=true: this server has no such endpoint; put /,
  );
  assert.match(
    refusal('--allow-vertex-ai=1'),
    /^triton serve: --allow-vertex-ai=1: this server has no such endpoint; give /,
  );
});

test('name and release in the metadata can be set', () => {
  const { id, version } = serve('--id=mine', '--server-version=2.51.0').general;
  assert.deepEqual([id, version], ['mine', '2.51.0']);
  assert.deepEqual([serve().general.id, serve().general.version], ['triton', '2.73.0']);
});

test('--metrics-config: quantiles that end in something else are read as far as they are numbers', () => {
  const { metrics } = serve('--metrics-config=summary_quantiles=0.5x:0.05,0.9:0.01q, 0.7 :0.1,0x1p-2:0.2,7:0.1');
  assert.deepEqual(metrics.summaryQuantiles, [0.5, 0.9, 0.7, 0.25]);
  assert.deepEqual(metrics.quantileFaults, [
    'Invalid option: [7:0.1]. A quantile and its error are numbers from 0 to 1.',
  ]);
});

test('options of a service that is switched off are not checked', () => {
  assert.equal(serve('--grpc-port', '-47', '--allow-grpc', '0').grpc.enabled, false);
  assert.equal(serve('--allow-http=0', '--http-port=99999', '--http-use-ssl=1').http.enabled, false);
  assert.equal(serve('--metrics-port=80x', '--allow-metrics=false').metrics.enabled, false);
  assert.match(
    refusal('--grpc-port=-47'),
    /^Bad option: "--grpc-port"\.\nInvalid option value\. Got -47, expected a port/,
  );
  assert.match(refusal('--allow-metrics=0', '--metrics-port=x'), /Invalid option value\. Got x/);
});

test('arguments that are directories, or addresses of object stores, are model repositories', () => {
  const options = serve('--http-port=0', '.', '--model-repository=m', 's3://host/models');
  assert.deepEqual(options.models.repositories, ['m', '.', 's3://host/models']);
});

test('options are frozen, group by group', () => {
  const options = serve('--id=x');
  for (const part of [options, ...Object.values(options)]) assert.ok(Object.isFrozen(part));
});

test('--help and --version count where they stand', () => {
  assert.equal(resolveOptions(['--version'], () => {}).kind, 'version');
  assert.equal(resolveOptions(['--help', '--nope'], () => {}).kind, 'help');
  assert.equal(resolveOptions(['--nope', '--help'], () => {}).kind, 'error');
});

test('patterns of header names are RE2; what is wrong with one is said', () => {
  const { headerForward } = serve('--http-header-forward-pattern=(?-i)^x-(?P<kind>a|b)$').http;
  assert.deepEqual(
    [headerForward?.test('x-a'), headerForward?.test('X-A'), headerForward?.test('x-c')],
    [true, false, false],
  );
  assert.match(
    refusal('--grpc-header-forward-pattern=a(?=b)'),
    /^Bad option: "--grpc-header-forward-pattern"\.\nInvalid option value\. Got a\(\?=b\), expected a regular expression of RE2: .*\(\?=/,
  );
});
