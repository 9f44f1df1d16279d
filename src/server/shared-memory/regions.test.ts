import assert from 'node:assert/strict';
import { randomUUID } from 'node:crypto';
import {
  mkdirSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  symlinkSync,
  truncateSync,
  writeFileSync,
} from 'node:fs';
import { afterEach, beforeEach, test } from 'node:test';
import { NEEDS_SHARED_MEMORY } from '../../../test/support/machine/linux-only.js';
import { ServerSharedMemory } from './regions.js';

const NAME = `triton_test_${randomUUID()}`;
const FILE = `/dev/shm/${NAME}`;
const SIZE = 3 * 4096;
let regions: ServerSharedMemory;

beforeEach(() => {
  if (NEEDS_SHARED_MEMORY.skip !== false) return;
  writeFileSync(FILE, Buffer.alloc(SIZE, 7));
  regions = new ServerSharedMemory(true);
});

afterEach(() => {
  regions?.close();
  for (const path of [FILE, `${FILE}_link`, `${FILE}_folder`]) rmSync(path, { recursive: true, force: true });
});

function register(change: Partial<Parameters<ServerSharedMemory['register']>[0]> = {}): void {
  regions.register({ name: 'r', key: `/${NAME}`, offset: 0n, byteSize: 100n, ...change });
}

const place = (offset: bigint, byteSize: bigint, region = 'r') => ({ region, offset, byteSize });

test('keys: slashes in front do not count, nothing but a file of /dev/shm is opened', NEEDS_SHARED_MEMORY, () => {
  symlinkSync('/etc/hosts', `${FILE}_link`);
  mkdirSync(`${FILE}_folder`);
  for (const [name, key] of [
    ['a', NAME],
    ['b', `/${NAME}`],
    ['c', `//${NAME}`],
  ] as const) {
    register({ name, key });
  }
  for (const key of [
    '..',
    '.',
    '../shm/x',
    `a/../${NAME}`,
    `/dev/shm/${NAME}`,
    `${NAME}/`,
    `${NAME}_link`,
    `${NAME}_folder`,
    `${NAME}_none`,
    `${NAME}\0`,
    'x'.repeat(256),
    'é'.repeat(128),
  ]) {
    assert.throws(() => register({ key }), {
      code: 'INTERNAL',
      message: `Unable to open shared memory region: '${key}'`,
    });
  }
  for (const key of ['', '/', '///']) {
    assert.throws(() => register({ key }), {
      code: 'INVALID_ARG',
      message: `cannot register shared memory region 'r' - invalid shm key '${key}'`,
    });
  }
  const reserved = '//triton_python_backend_shm_region_1';
  assert.throws(() => register({ key: reserved }), {
    code: 'INVALID_ARG',
    message: `cannot register shared memory region 'r' with key '${reserved}' as the key contains the reserved prefix 'triton_python_backend_shm_region_'`,
  });
  assert.deepEqual(
    regions.status('system', '').map(({ name, key }) => [name, key]),
    [
      ['a', NAME],
      ['b', `/${NAME}`],
      ['c', `//${NAME}`],
    ],
  );
});

test('ranges of the object', NEEDS_SHARED_MEMORY, () => {
  const failed = "failed to register shared memory region 'r':";
  for (const [change, message] of [
    [{ byteSize: BigInt(SIZE) + 1n }, `${failed} invalid args`],
    [{ offset: 4096n, byteSize: BigInt(SIZE) - 4095n }, `${failed} invalid args`],
    [{ offset: 2n ** 64n - 1n, byteSize: 2n ** 64n - 1n }, `${failed} invalid args`],
    [{ byteSize: 0n }, `${failed} unable to process address spaceInvalid argument`],
    [{ offset: 1n }, `${failed} unable to process address spaceInvalid argument`],
  ] as const) {
    assert.throws(() => register(change), { code: 'INVALID_ARG', message });
  }
  register({ offset: 4096n, byteSize: BigInt(SIZE) - 4096n });
  assert.throws(() => register(), {
    code: 'ALREADY_EXISTS',
    message: "shared memory region 'r' already in manager",
  });
});

test('offsets of requests count from the start of the region, and stay within it', NEEDS_SHARED_MEMORY, () => {
  const content = Buffer.from(Uint8Array.from({ length: SIZE }, (_, i) => (i * 7) % 251));
  writeFileSync(FILE, content);
  register({ offset: 4096n, byteSize: 100n });
  const lease = regions.lease()!;
  assert.deepEqual(Buffer.from(lease.read(place(10n, 90n))), content.subarray(4106, 4196));
  assert.equal(lease.read(place(99n, 0n)).length, 0);
  lease.write(place(98n, 2n), Buffer.from([1, 2]));
  content.set([1, 2], 4096 + 98);
  assert.deepEqual(readFileSync(FILE), content);
  for (const [offset, byteSize, message] of [
    [100n, 0n, "Invalid offset for shared memory region: 'r'"],
    [2n ** 64n - 1n, 1n, "Invalid offset for shared memory region: 'r'"],
    [50n, 51n, "Invalid offset + byte size for shared memory region: 'r'"],
    [
      8n,
      2n ** 64n - 1n,
      "Integer overflow detected: byte_size (18446744073709551615) + offset (8) exceeds maximum value (18446744073709551615) for region 'r'",
    ],
  ] as const) {
    for (const use of ['read', 'reserve'] as const) {
      assert.throws(() => lease[use](place(offset, byteSize)), { code: 'INVALID_ARG', message });
    }
  }
  assert.throws(() => lease.reserve(place(0n, 1n, 'other')), {
    code: 'NOT_FOUND',
    message: "Unable to find shared memory region: 'other'",
  });
  lease.release();
});

test('a region in use stays until the last request is answered', NEEDS_SHARED_MEMORY, () => {
  register();
  const [first, second] = [regions.lease()!, regions.lease()!];
  first.reserve(place(0n, 4n));
  second.read(place(0n, 4n));
  regions.unregister('system', 'r');
  assert.equal(regions.status('system', 'r').length, 1);
  assert.throws(() => register(), { code: 'ALREADY_EXISTS' });
  first.write(place(0n, 4n), Buffer.from([4, 3, 2, 1]));
  first.release();
  first.release();
  // Requests that come meanwhile may use it too.
  const third = regions.lease()!;
  assert.deepEqual([...third.read(place(0n, 4n))], [4, 3, 2, 1]);
  second.release();
  assert.equal(regions.status('system', '').length, 1);
  third.release();
  assert.deepEqual(regions.status('system', ''), []);
  register();
  regions.unregister('system', '');
  assert.equal(regions.lease(), undefined);
});

test('an object that its owner made shorter', NEEDS_SHARED_MEMORY, () => {
  register();
  truncateSync(FILE, 50);
  const lease = regions.lease()!;
  assert.equal(lease.read(place(0n, 50n)).length, 50);
  assert.throws(() => lease.read(place(0n, 51n)), {
    code: 'INTERNAL',
    message: `the shared memory object '/${NAME}' was made shorter by its owner`,
  });
  lease.release();
});

test('a write never makes the object of its owner longer', NEEDS_SHARED_MEMORY, () => {
  register({ byteSize: BigInt(SIZE) });
  const lease = regions.lease()!;
  truncateSync(FILE, 4096);
  const shorter = { code: 'INTERNAL', message: /was made shorter by its owner$/ };
  assert.throws(() => lease.write(place(4096n, 8n), Buffer.alloc(8)), shorter);
  assert.throws(() => lease.write(place(4092n, 8n), Buffer.alloc(8)), shorter);
  assert.equal(statSync(FILE).size, 4096);
  lease.write(place(4088n, 8n), Buffer.alloc(8, 1));
  assert.equal(readFileSync(FILE)[4095], 1);
});

test('regions of 2 GiB and more are read whole', NEEDS_SHARED_MEMORY, () => {
  // The object is one hole, which reads as zeros and takes no memory; only its end is written.
  const size = 2 ** 31 + 4096;
  truncateSync(FILE, size);
  writeFileSync(FILE, Buffer.alloc(0), { flag: 'a' });
  register({ byteSize: BigInt(size) });
  const lease = regions.lease()!;
  lease.write(place(BigInt(size - 8), 8n), Buffer.from('the end.'));
  const bytes = lease.read(place(0n, BigInt(size)));
  assert.equal(bytes.length, size);
  assert.equal(Buffer.from(bytes.buffer, bytes.byteOffset + size - 8, 8).toString(), 'the end.');
  truncateSync(FILE, 4096);
  // Found out before memory is taken.
  assert.throws(() => lease.read(place(0n, BigInt(size))), /was made shorter by its owner/);
  lease.release();
});

test(
  'regions of one object share its descriptor, also when the key names another object later',
  NEEDS_SHARED_MEMORY,
  () => {
    const descriptors = () => readdirSync('/proc/self/fd').length;
    const before = descriptors();
    for (let i = 0; i < 50; i++) register({ name: `r${i}` });
    assert.equal(descriptors(), before + 1);
    rmSync(FILE);
    writeFileSync(FILE, Buffer.alloc(SIZE, 9));
    register({ name: 'later' });
    assert.equal(descriptors(), before + 2);
    const lease = regions.lease()!;
    assert.equal(lease.read(place(0n, 1n, 'r7'))[0], 7);
    assert.equal(lease.read(place(0n, 1n, 'later'))[0], 9);
    lease.release();
    regions.unregister('system', '');
    assert.equal(descriptors(), before);
  },
);

test('there is a limit of regions', NEEDS_SHARED_MEMORY, () => {
  regions = new ServerSharedMemory(true, 'linux', 2);
  register({ name: 'a' });
  register({ name: 'b' });
  assert.throws(() => register({ name: 'c' }), {
    code: 'UNAVAILABLE',
    message: /as many as --client-shm-region-limit/,
  });
  regions.unregister('system', 'a');
  register({ name: 'c' });
});

test('kinds share their names; no CUDA region can be registered', NEEDS_SHARED_MEMORY, () => {
  register();
  assert.throws(() => regions.status('cuda', 'r'), {
    code: 'NOT_FOUND',
    message: "The region named 'r' is registered as system shared memory, not CUDA shared memory",
  });
  assert.throws(() => regions.registerCuda('r'), { code: 'ALREADY_EXISTS' });
  assert.throws(() => regions.registerCuda('c'), {
    code: 'INVALID_ARG',
    message: 'failed to register shared memory region: invalid args',
  });
  regions.unregister('cuda', 'r');
  regions.unregister('cuda', '');
  assert.equal(regions.status('system', 'r').length, 1);
});

test('what is not allowed, or not there', () => {
  const off = new ServerSharedMemory(false, 'linux');
  assert.throws(() => off.checkAllowed(), {
    code: 'UNSUPPORTED',
    message: "Client shared memory is disabled. Start the server with '--allow-client-shm=true' to enable.",
  });
  assert.throws(() => new ServerSharedMemory(true, 'win32').checkAllowed(), {
    code: 'UNSUPPORTED',
    message: 'Shared memory feature is currently not supported on Windows',
  });
  assert.throws(() => off.status('system', 'x'), {
    code: 'NOT_FOUND',
    message: "Unable to find system shared memory region: 'x'",
  });
  assert.deepEqual([off.status('system', ''), off.status('cuda', '')], [[], []]);
});
