/** One request: which pictures it holds, by index. */
export type PictureBatch = readonly number[];

/**
 * Groups pictures into requests: in order, starting again at the first when the list ends, until the batch is full; a
 * request that reaches the end of the list is the last one. 3 pictures by 2: [0, 1], [2, 0].
 */
export function pictureBatches(pictures: number, batchSize: number): PictureBatch[] {
  const batches: PictureBatch[] = [];
  for (let start = 0; start < pictures; start += batchSize) {
    batches.push(Array.from({ length: batchSize }, (_, i) => (start + i) % pictures));
  }
  return batches;
}
