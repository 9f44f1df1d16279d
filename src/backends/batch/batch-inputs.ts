import type { ExecutionRequest } from '../../contract/backend.js';
import { elementCount } from '../../protocol/datatype.js';
import { BatchInputKind, DataType, type ModelConfig } from '../../protocol/proto/model-config.js';
import type { Tensor } from '../../protocol/tensor.js';

type BatchInputConfig = ModelConfig['batch_input'][number];

/**
 * The tensors that describe a batch to a model of ragged inputs: element counts, their running sums, shapes of the
 * items. One per target name, FP32 where the configuration says so, else INT32.
 */
export function batchInputTensors(
  configs: readonly BatchInputConfig[],
  batch: readonly ExecutionRequest[],
): readonly Tensor[] {
  return configs.flatMap((config) => {
    const { shape, values } = describe(config, batch);
    const isFloat = config.data_type === DataType.values.TYPE_FP32;
    const numbers = isFloat ? Float32Array.from(values) : Int32Array.from(values);
    return config.target_name.map((name) => ({
      name,
      datatype: isFloat ? 'FP32' : 'INT32',
      shape,
      data: new Uint8Array(numbers.buffer),
    }));
  });
}

function describe(config: BatchInputConfig, batch: readonly ExecutionRequest[]): { shape: number[]; values: number[] } {
  const shapes = batch.map((request) => {
    const source = request.inputs.find((input) => input.name === config.source_input[0]);
    return source?.shape ?? [0];
  });
  const counts = shapes.map(elementCount);
  const kinds = BatchInputKind.values;
  switch (config.kind) {
    case kinds.BATCH_ACCUMULATED_ELEMENT_COUNT:
      return { shape: [counts.length], values: sums(counts) };
    case kinds.BATCH_ACCUMULATED_ELEMENT_COUNT_WITH_ZERO:
      return { shape: [counts.length + 1], values: [0, ...sums(counts)] };
    case kinds.BATCH_MAX_ELEMENT_COUNT_AS_SHAPE: {
      // Only the shape says something.
      const most = Math.max(...counts);
      return { shape: [most], values: new Array(most).fill(0) };
    }
    case kinds.BATCH_ITEM_SHAPE: {
      const rows = itemShapes(shapes);
      return { shape: [rows.length, (shapes[0]?.length ?? 1) - 1], values: rows.flat() };
    }
    case kinds.BATCH_ITEM_SHAPE_FLATTEN: {
      const values = itemShapes(shapes).flat();
      return { shape: [values.length], values };
    }
    default:
      return { shape: [counts.length], values: counts };
  }
}

function sums(counts: readonly number[]): number[] {
  let sum = 0;
  return counts.map((count) => {
    sum += count;
    return sum;
  });
}

/** One row per item of the batch: its shape without the batch dimension. */
function itemShapes(shapes: readonly (readonly number[])[]): (readonly number[])[] {
  return shapes.flatMap((shape) => new Array<readonly number[]>(shape[0] ?? 1).fill(shape.slice(1)));
}
