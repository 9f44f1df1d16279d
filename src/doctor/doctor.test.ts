import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { chmodSync, mkdirSync, mkdtempSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { type AddressInfo, createServer } from 'node:net';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { afterEach, beforeEach, describe, test } from 'node:test';
import { fileURLToPath } from 'node:url';
import { checkCpu, checkMemory, checkNode, checkOpenFiles, checkSharedMemory } from './check-machine.js';
import { checkCudaLibraries, checkNvidia } from './check-nvidia.js';
import { checkOnnxRuntime } from './check-onnxruntime.js';
import { checkPorts } from './check-ports.js';
import { checkPython } from './check-python.js';
import type { Host } from './host.js';
import { runDoctor } from './run-doctor.js';

const TRITON = fileURLToPath(new URL('../../../bin/triton.js', import.meta.url));
let root = '';
beforeEach(() => {
  root = mkdtempSync(path.join(tmpdir(), 'doctor-'));
});
afterEach(() => rmSync(root, { recursive: true }));

/** Puts real files below the root; a text that begins with `#!` becomes a program. */
function put(files: Readonly<Record<string, string>>): void {
  for (const [name, content] of Object.entries(files)) {
    const file = path.join(root, name);
    mkdirSync(path.dirname(file), { recursive: true });
    writeFileSync(file, content);
    if (content.startsWith('#!')) chmodSync(file, 0o755);
  }
}

/** A machine that is the root directory, with programs from its `bin` only (and the shell, for scripts). */
function host(env: Host['env'] = {}): Host {
  return { root, env: { PATH: path.join(root, 'bin'), ...env } };
}

const SMI = (rows: string): string => `#!/bin/sh\nprintf '%s\\n' '${rows}'\n`;
const DRIVER = 'NVRM version: NVIDIA UNIX x86_64 Kernel Module  550.54.15  Tue Mar  5 22:23:56 UTC 2024\n';

describe('the machine', () => {
  test('Node: the oldest that is supported', () => {
    assert.equal(checkNode('20.19.0').status, 'ok');
    assert.equal(checkNode('24.1.0').status, 'ok');
    const { status, follows, remedy } = checkNode('20.18.9');
    assert.deepEqual([status, follows], ['error', 'Node 20.19 or newer is needed']);
    assert.match(remedy ?? '', /^Install Node 20\.19/);
  });

  test('processor: limits of containers, of both versions of control groups', () => {
    assert.equal(checkCpu(host()).facts['quota'], null);
    put({ 'sys/fs/cgroup/cpu.max': 'max 100000\n' });
    assert.equal(checkCpu(host()).facts['quota'], null);
    put({ 'sys/fs/cgroup/cpu.max': '50000 100000\n' });
    const limited = checkCpu(host());
    assert.equal(limited.status, 'warning');
    assert.ok(limited.found.includes('the container may use the time of 0.5 cores'));
    rmSync(path.join(root, 'sys/fs/cgroup/cpu.max'));
    put({ 'sys/fs/cgroup/cpu/cpu.cfs_quota_us': '25000', 'sys/fs/cgroup/cpu/cpu.cfs_period_us': '100000' });
    assert.equal(checkCpu(host()).facts['quota'], 0.25);
  });

  test('memory: what the machine has and what the container may use', () => {
    put({ 'proc/meminfo': 'MemTotal:       16777216 kB\nMemFree: 1 kB\nMemAvailable:   8388608 kB\n' });
    const free = checkMemory(host());
    assert.deepEqual([free.status, free.found], ['ok', ['16 GiB, 8.0 GiB available']]);
    put({ 'sys/fs/cgroup/memory.max': '1073741824\n', 'sys/fs/cgroup/memory.current': '536870912\n' });
    const limited = checkMemory(host());
    assert.deepEqual([limited.status, limited.facts['left']], ['warning', 536870912]);
    assert.match(limited.remedy ?? '', /container's memory limit/);
  });

  test('shared memory and open files', () => {
    assert.equal(checkSharedMemory(host()).status, 'missing');
    mkdirSync(path.join(root, 'dev/shm'), { recursive: true });
    assert.match(checkSharedMemory(host()).found[0] ?? '', /^\/dev\/shm has \d/);
    put({
      'proc/self/limits':
        'Limit  Soft Limit  Hard Limit  Units\nMax open files            1024                 4096  files\n',
    });
    assert.equal(checkOpenFiles(host()).status, 'warning');
    put({ 'proc/self/limits': 'Max open files            65536                65536 files\n' });
    assert.equal(checkOpenFiles(host()).status, 'ok');
  });

  test('ports: which are taken, and how to use others', async () => {
    const server = createServer();
    await new Promise<void>((resolve) => server.listen(0, '0.0.0.0', resolve));
    const { port } = server.address() as AddressInfo;
    const { status, found, remedy } = await checkPorts([0, port, 0]);
    await new Promise((resolve) => server.close(resolve));
    assert.equal(status, 'warning');
    assert.deepEqual(found, ['0 (HTTP): free', `${port} (gRPC): in use`, '0 (metrics): free']);
    assert.equal(remedy, 'Start it with --grpc-port <other port>, or end what uses the port.');
  });
});

describe('NVIDIA', () => {
  test('nothing there', async () => {
    const { status, found, follows } = await checkNvidia(host());
    assert.deepEqual([status, found, follows], ['missing', ['no NVIDIA driver'], 'models run on the CPU']);
  });

  test('a GPU without a driver', async () => {
    put({
      'sys/bus/pci/devices/0000:01:00.0/vendor': '0x10de\n',
      'sys/bus/pci/devices/0000:01:00.0/class': '0x030200\n',
    });
    const { status, remedy } = await checkNvidia(host());
    assert.equal(status, 'missing');
    assert.match(remedy ?? '', /^Install the driver/);
  });

  test('a driver with GPUs', async () => {
    put({
      'proc/driver/nvidia/version': DRIVER,
      'bin/nvidia-smi': SMI('NVIDIA H200, 143771 MiB, 550.54.15, 9.0'),
    });
    const { status, found, facts } = await checkNvidia(host());
    assert.equal(status, 'ok');
    assert.deepEqual(found, ['driver 550.54.15', 'GPU 0: NVIDIA H200, 143771 MiB, compute capability 9.0']);
    assert.deepEqual(facts['gpus'], [{ name: 'NVIDIA H200', memory: '143771 MiB', computeCapability: '9.0' }]);
  });

  test('an old driver, a driver without devices, a tool that fails', async () => {
    put({ 'proc/driver/nvidia/version': DRIVER.replace('550.54.15', '470.82.01') });
    put({ 'bin/nvidia-smi': SMI('Tesla T4, 15360 MiB, 470.82.01, 7.5') });
    assert.match((await checkNvidia(host())).follows, /^CUDA 12 needs driver 525/);
    rmSync(path.join(root, 'bin/nvidia-smi'));
    assert.match((await checkNvidia(host())).remedy ?? '', /--gpus all/);
    put({
      'dev/nvidia0': '',
      'bin/nvidia-smi': '#!/bin/sh\necho "Failed to initialize NVML: Driver/library version mismatch"\nexit 18\n',
    });
    const { status, found, remedy } = await checkNvidia(host());
    assert.equal(status, 'warning');
    assert.ok(found.includes('nvidia-smi: Failed to initialize NVML: Driver/library version mismatch'));
    assert.match(remedy ?? '', /Restart after an update/);
  });

  test('libraries by LD_LIBRARY_PATH, by the loader, in their usual place; versions from their real names', async () => {
    put({
      'opt/cuda/libcudart.so.12.4.127': 'x',
      'usr/local/cuda/lib64/libcublas.so.12.4.5.8': 'x',
      'cache/libcudnn.so.9.1.0': 'x',
      'usr/lib/x86_64-linux-gnu/libcufft.so.10': 'x',
    });
    symlinkSync('libcudart.so.12.4.127', path.join(root, 'opt/cuda/libcudart.so.12'));
    symlinkSync('libcublas.so.12.4.5.8', path.join(root, 'usr/local/cuda/lib64/libcublas.so.12'));
    symlinkSync('libcudnn.so.9.1.0', path.join(root, 'cache/libcudnn.so.9'));
    symlinkSync('nowhere', path.join(root, 'opt/cuda/libcurand.so.10'));
    const line = `\tlibcudnn.so.9 (libc6,x86-64) => ${root}/cache/libcudnn.so.9`;
    put({ 'sbin/ldconfig': `#!/bin/sh\nprintf '1 libs found\\n%s\\n' '${line}'\n` });
    const machine = host({ LD_LIBRARY_PATH: `${root}/none:${root}/opt/cuda` });
    const { status, found, remedy } = await checkCudaLibraries(machine, true, false);
    const facts = found.map((text) => text.replaceAll(root, ''));
    assert.equal(status, 'warning');
    assert.deepEqual(facts, [
      'libcuda.so.1 (the driver): missing',
      'libcudart.so.12 (CUDA runtime): 12.4.127, /opt/cuda/libcudart.so.12',
      'libcublas.so.12 (cuBLAS): 12.4.5.8, /usr/local/cuda/lib64/libcublas.so.12',
      'libcublasLt.so.12 (cuBLASLt): missing',
      'libcufft.so.11 (cuFFT): missing; there is libcufft.so.10',
      'libcurand.so.10 (cuRAND): missing; its link leads nowhere',
      'libcudnn.so.9 (cuDNN): 9.1.0, /cache/libcudnn.so.9',
      'CUDA provider of ONNX Runtime: not installed',
    ]);
    assert.match(
      remedy ?? '',
      /^Install CUDA 12 .*the driver's libraries .*npm rebuild onnxruntime-node.*LD_LIBRARY_PATH/,
    );
    assert.doesNotMatch(remedy ?? '', /cuDNN 9 for/);
    assert.equal((await checkCudaLibraries(machine, false, false)).status, 'ok');
  });
});

describe('Python', () => {
  test('none, one that does not work, one without numpy, a good one', async () => {
    const none = await checkPython(host());
    assert.deepEqual([none.status, none.found], ['missing', ['no python3 in PATH']]);
    const wrong = await checkPython(host({ TRITON_PYTHON: '/nowhere/python' }));
    assert.deepEqual(wrong.found, ["TRITON_PYTHON names '/nowhere/python', which is not a program"]);
    put({ 'bin/python3': '#!/bin/sh\necho "python3: bad luck" >&2\nexit 3\n' });
    assert.match((await checkPython(host())).found[0] ?? '', /does not run a program: python3: bad luck$/);
    put({ 'bin/python3': `#!/bin/sh\necho '{"version": "3.12.1", "problem": "ModuleNotFoundError: no"}'\n` });
    const bare = await checkPython(host());
    assert.deepEqual([bare.status, bare.facts['numpy']], ['missing', null]);
    assert.equal(bare.remedy?.includes('-m pip install numpy'), true);
    put({ 'bin/python3': `#!/bin/sh\necho '{"version": "3.12.1", "numpy": "2.1.0"}'\n` });
    const good = await checkPython(host());
    assert.deepEqual([good.status, good.found.at(-1)], ['ok', 'numpy 2.1.0']);
  });
});

describe('ONNX Runtime', () => {
  test('a package without its library is an error, and so is a runtime that is not there', async () => {
    const machine = { root: '/', env: process.env };
    const good = await checkOnnxRuntime(machine);
    assert.deepEqual([good.status, (good.facts['providers'] as Record<string, string>)['cpu']], ['ok', 'ok']);
    // A provider's file that is not a library: the provider is reported as unusable, and nothing falls over.
    put({ 'libonnxruntime_providers_cuda.so': 'no library' });
    const broken = await checkOnnxRuntime(machine, { version: '1.2.3', libraries: root });
    assert.match(broken.found.at(-1) ?? '', /^provider cuda: cannot be loaded: ./);
    // The process that tries it cannot even start: its program's libraries are hidden.
    const hidden = await checkOnnxRuntime({ root, env: { NODE_OPTIONS: '--require=/nowhere.cjs' } });
    assert.equal(hidden.status, 'error');
  });
});

describe('triton doctor', () => {
  test('survives a machine where everything is missing', async () => {
    const { checks, canServe } = await runDoctor(host(), [0, 0, 0]);
    const states = Object.fromEntries(checks.map(({ id, status }) => [id, status]));
    assert.equal(states['python'], 'missing');
    assert.equal(states['shared-memory'], 'missing');
    assert.equal(states['nvidia'], 'missing');
    assert.equal(canServe, true);
  });

  test('prints text and JSON, and its exit status says whether serving is possible', () => {
    const run = (args: string[], env: NodeJS.ProcessEnv = {}) =>
      spawnSync(process.execPath, [TRITON, 'doctor', ...args], { encoding: 'utf8', env: { ...process.env, ...env } });
    const text = run([]);
    assert.equal(text.status, 0, text.stderr);
    assert.match(text.stdout, /^ok {7}Node: version /);
    assert.match(text.stdout, /\nServing is possible\.\nONNX models would run on /);
    const json = run(['--format', 'json'], { PATH: '/nowhere', LD_LIBRARY_PATH: '/nowhere' });
    assert.equal(json.status, 0, json.stderr);
    const { canServe, checks } = JSON.parse(json.stdout) as { canServe: boolean; checks: { id: string }[] };
    assert.equal(canServe, true);
    assert.equal(checks.length, 10);
    assert.equal(run(['--format', 'xml']).status, 2);
  });
});
