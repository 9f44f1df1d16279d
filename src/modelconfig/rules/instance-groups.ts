/** Rules of normalised instance groups. */

import type { Faults } from '../../contract/fault.js';
import { InstanceKind, type ModelConfig, type ModelInstanceGroup } from '../../protocol/proto/model-config.js';
import { type InstanceGroupHost, instanceCount, MAX_INSTANCES } from '../complete/normalize.js';
import { isEnginePlatform } from './engine-platform.js';

/** Least CUDA compute capability of a GPU that is used; Triton's option has this default. */
const MIN_COMPUTE_CAPABILITY = '6.000000';

/** Checks every group. */
export function checkInstanceGroups(config: ModelConfig, host: InstanceGroupHost, faults: Faults): void {
  checkCount(config, faults);
  if (config.instance_group.length === 0) {
    faults.add('instance-group', ['instance_group'], `must specify one or more 'instance group's for ${config.name}`);
  }
  for (const [i, group] of config.instance_group.entries()) {
    const path = ['instance_group', i];
    const where = `instance group ${group.name} of model ${config.name}`;
    const add = (field: string, message: string, remedy?: string) =>
      faults.add('instance-group', [...path, field], `${where} ${message}`, remedy);
    checkKind(group, host, add, (message) =>
      faults.list.push({
        rule: 'instance-group',
        code: 'INTERNAL',
        message: `${where} ${message}`,
        path: [...path, 'kind'],
      }),
    );
    if (group.profile.length === 0) continue;
    if (!isEnginePlatform(host.backends, config.platform)) {
      faults.add(
        'instance-group',
        [...path, 'profile'],
        `${where} and platform ${config.platform}specifies profile field which is only supported for TensorRT models`,
        "Remove 'profile'.",
      );
    } else {
      checkProfiles(group, path, `${where} and platform ${config.platform}`, faults);
    }
  }
}

/** Triton makes as many instances as the configuration says, until the machine has no memory or threads left. */
function checkCount(config: ModelConfig, faults: Faults): void {
  const count = instanceCount(config);
  if (count <= MAX_INSTANCES) return;
  const most = config.instance_group.reduce((a, b) => (b.count > a.count ? b : a));
  faults.add(
    'instance-group',
    ['instance_group', config.instance_group.indexOf(most), 'count'],
    `instance groups of model ${config.name} ask for ${count} instances, more than the ${MAX_INSTANCES} that a version may have`,
    'Write a smaller count: each instance has a thread or a process of its own, so more than there are cores seldom help.',
  );
}

function checkKind(
  group: ModelInstanceGroup,
  host: InstanceGroupHost,
  add: (field: string, message: string, remedy?: string) => void,
  addInternal: (message: string) => void,
): void {
  const { KIND_CPU, KIND_GPU, KIND_MODEL } = InstanceKind.values;
  if (group.kind === KIND_MODEL || group.kind === KIND_CPU) {
    if (group.gpus.length === 0) return;
    const kind = group.kind === KIND_MODEL ? 'KIND_MODEL' : 'KIND_CPU';
    add('gpus', `has kind ${kind} but specifies one or more GPUs`, "Remove 'gpus', or choose KIND_GPU.");
  } else if (group.kind === KIND_GPU) {
    if (group.gpus.length === 0) {
      const text = host.gpus.length === 0 ? 'no GPUs are available' : 'specifies no GPUs';
      add('kind', `has kind KIND_GPU but ${text}`, 'Use KIND_AUTO to fall back on the CPU, or KIND_CPU.');
    }
    const bad = group.gpus.findIndex((gpu) => !host.gpus.includes(gpu));
    if (bad >= 0) {
      add(
        'gpus',
        `specifies invalid or unsupported gpu id ${group.gpus[bad]}. GPUs with at least the minimum required CUDA compute compatibility of ${MIN_COMPUTE_CAPABILITY} are: ${host.gpus.join(', ')}`,
      );
    }
  } else {
    addInternal('has unexpected kind KIND_AUTO');
  }
}

function checkProfiles(group: ModelInstanceGroup, path: (string | number)[], where: string, faults: Faults): void {
  for (const [i, profile] of group.profile.entries()) {
    const at = [...path, 'profile', i];
    if (profile === '') {
      faults.add('instance-group', at, 'profile name must not be empty');
    } else if (!/^\s*[-+]?[0-9]/.test(profile)) {
      faults.add('instance-group', at, `unable to parse '${profile}': stoi`);
    } else if (Number.parseInt(profile, 10) < 0) {
      const text = `specifies invalid profile ${profile}. The field should contain the string representation of a non-negative integer.`;
      faults.add('instance-group', at, `${where} ${text}`);
    }
  }
}
