import assert from 'node:assert/strict';
import { test } from 'node:test';
import { readOptions } from './options.js';

test('all options, in any order, the last of several counts', () => {
  const args = ['pic.jpg', '-vam', 'net', '-x', '2', '-b4', '-c', '1', '-c', '3', '-s', 'VGG', '-i', 'gRPC'];
  const options = readOptions([...args, '-u', 'h:1', '-p', 'out', '--str', '-H', 'A: b:c', '-H', 'x:', 'second.jpg']);
  assert.deepEqual(options, {
    verbose: true,
    async: true,
    streaming: true,
    model: 'net',
    version: '2',
    batchSize: 4,
    classes: 3,
    scaling: 'VGG',
    url: 'h:1',
    protocol: 'grpc',
    preprocessedFile: 'out',
    headers: { A: ' b:c', x: '' },
    path: 'pic.jpg',
  });
});

test('defaults', () => {
  assert.deepEqual(readOptions(['-m', 'net', 'pic.jpg']), {
    verbose: false,
    async: false,
    streaming: false,
    model: 'net',
    version: '',
    batchSize: 1,
    classes: 1,
    scaling: 'NONE',
    url: 'localhost:8000',
    protocol: 'http',
    preprocessedFile: undefined,
    headers: {},
    path: 'pic.jpg',
  });
});

const USAGE = true;
const ALONE = false;
const faults: readonly [args: string[], message: string, showUsage: boolean][] = [
  [[], 'error: -m flag must be specified\n', USAGE],
  [['-h'], "triton image-client: invalid option -- 'h'\n", USAGE],
  [['--nope', '-m', 'net', 'f'], "triton image-client: unrecognized option '--nope'\n", USAGE],
  [['f', '-m'], "triton image-client: option requires an argument -- 'm'\n", USAGE],
  [['-m', 'net', '-b', '0', 'f'], 'error: batch size must be > 0\n', USAGE],
  [['-m', 'net', '-b', 'x', 'f'], 'error: batch size must be > 0\n', USAGE],
  [['-m', 'net', '-c', '-1', 'f'], 'error: topk must be > 0\n', USAGE],
  [['-m', 'net'], 'error: image file or image folder must be specified\n', USAGE],
  [['-m', 'net', '--streaming', '-a', 'f'], 'error: Streaming is only allowed with gRPC protocol\n', USAGE],
  [['-m', 'net', '--streaming', '-i', 'grpc', 'f'], 'error: Only async operation is supported in streaming\n', USAGE],
  [['-H', 'colonless'], "error: -H header must be specified as 'Header:Value', got 'colonless'\n", USAGE],
  [['-s', 'vgg', '-h'], 'unexpected scale type "vgg", expecting NONE, INCEPTION or VGG\n', ALONE],
  [['-h', '-s', 'vgg'], "triton image-client: invalid option -- 'h'\n", USAGE],
  [['-i', 'foo'], 'unexpected protocol type "foo", expecting HTTP or gRPC\n', ALONE],
];

for (const [args, message, showUsage] of faults) {
  test(`refuses: ${args.join(' ') || '(nothing)'}`, () => {
    assert.deepEqual(readOptions(args), { message, showUsage });
  });
}
