import {
  BadOption,
  integerPair,
  parseFloating,
  parseGroupedSetting,
  parseInt32,
  parseInt64,
  parsePair,
} from './parse-value.js';
import { checked, compatOneOf, option, type ServerOption, withoutEffect } from './server-option.js';

/** A `--rate-limit-resource`: `device` -1 = every device. */
export interface RateLimitResource {
  readonly name: string;
  readonly count: number;
  readonly device: number;
}

/** Options of the rate limiter, of memory and of devices. */
export interface DevicesOptions {
  readonly rateLimit: boolean;
  readonly rateLimitResources: readonly RateLimitResource[];
  readonly pinnedMemoryPoolBytes: number;
  readonly minComputeCapability: number;
}

/** The values that hold when an option is not given. */
export const DEVICES_DEFAULTS: DevicesOptions = {
  rateLimit: false,
  rateLimitResources: [],
  pinnedMemoryPoolBytes: 268435456,
  minComputeCapability: 6,
};

const RESOURCE_FORMAT =
  "--rate-limit-resource option format is '<resource_name>:<count>:<device>' or '<resource_name>:<count>'. Got ";

/** The options of the rate limiter. */
export const RATE_LIMIT_OPTIONS: readonly ServerOption[] = [
  option({
    name: 'rate-limit',
    group: 'Rate Limiter',
    argument: 'string',
    parse: compatOneOf(['execution_count', 'off'], 'invalid argument for --rate-limit', true),
    set({ options }, mode) {
      options.devices.rateLimit = mode === 'execution_count';
    },
    help: 'execution_count: executions compete for the resources that models ask for. off: they do not.',
    default: 'off',
  }),
  option({
    name: 'rate-limit-resource',
    group: 'Rate Limiter',
    argument: '<string>:<integer>:<integer>',
    help: 'NAME:COUNT[:DEVICE]: a resource of the rate limiter. May be given several times.',
    repeatable: true,
    parse(value): RateLimitResource {
      const [name = '', count, device, more] = value.split(':');
      if (count === undefined || more !== undefined) throw new BadOption(RESOURCE_FORMAT + value);
      return { name, count: parseInt32(count), device: device === undefined ? -1 : parseInt32(device) };
    },
    set({ options: { devices } }, resource) {
      devices.rateLimitResources = [...devices.rateLimitResources, resource];
    },
  }),
];

const group = 'Memory/Device Management';

const GPU_MEMORY = 'ONNX Runtime manages the memory of GPUs by itself; fewer instances need less of it';
const PINNED_MEMORY = 'there is no such pool; the start-up table and the metrics show the size';
const COMPUTE_CAPABILITY = 'ONNX Runtime checks the GPU; the start-up table shows the value';
const HOST_POLICY = 'the system places threads; bind the whole server with taskset or numactl';
const HOST_FORMAT = "--host-policy option format is '<policy name>,<setting>=<value>'. Got ";

/** The options of memory and devices. */
export const DEVICES_OPTIONS: readonly ServerOption[] = [
  option({
    name: 'pinned-memory-pool-byte-size',
    group,
    argument: 'integer',
    parse: parseInt64,
    set({ options }, bytes) {
      options.devices.pinnedMemoryPoolBytes = bytes;
    },
    help: withoutEffect(PINNED_MEMORY),
    note: PINNED_MEMORY,
  }),
  ...['cuda-memory-pool-byte-size', 'cuda-virtual-address-size'].map((name) =>
    checked({ name, group, argument: '<integer>:<integer>', parse: integerPair(':', parseInt64), note: GPU_MEMORY }),
  ),
  option({
    name: 'min-supported-compute-capability',
    group,
    argument: 'float',
    parse: parseFloating,
    set({ options }, capability) {
      options.devices.minComputeCapability = capability;
    },
    help: withoutEffect(COMPUTE_CAPABILITY),
    note: COMPUTE_CAPABILITY,
  }),
  checked({
    name: 'buffer-manager-thread-count',
    group,
    argument: 'integer',
    parse: parseInt32,
    note: 'tensors are not copied by a buffer manager',
  }),
  option({
    name: 'host-policy',
    group,
    argument: '<string>,<string>=<string>',
    help: `POLICY,SETTING=VALUE with numa-node or cpu-cores. ${withoutEffect(HOST_POLICY)}`,
    note: HOST_POLICY,
    repeatable: true,
    parse: (value) => parseGroupedSetting(value, { noGroup: HOST_FORMAT, format: HOST_FORMAT, groupRequired: true }),
    set({ late }, [, setting]) {
      if (setting === 'numa-node' || setting === 'cpu-cores') return;
      late.push(
        `setting host policy: Unsupported - Unsupported host policy setting '${setting}' is specified, supported ` +
          "settings are 'numa-node', 'cpu-cores'",
      );
    },
  }),
  option({
    name: 'model-load-gpu-limit',
    group,
    argument: '<device_id>:<fraction>',
    help: withoutEffect(GPU_MEMORY),
    note: GPU_MEMORY,
    repeatable: true,
    parse(value): [device: number, fraction: number] {
      const [device, fraction] = parsePair(value, ':');
      return [parseInt32(device), parseFloating(fraction)];
    },
    set({ late }, [device, fraction]) {
      const what = 'setting model load GPU limit: Invalid argument -';
      if (device < 0) late.push(`${what} expects device ID >= 0, got ${device}`);
      else if (!(fraction >= 0 && fraction <= 1)) {
        late.push(`${what} expects limit fraction to be in range [0.0, 1.0], got ${fraction.toFixed(6)}`);
      }
    },
  }),
];
