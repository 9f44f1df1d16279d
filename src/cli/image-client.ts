import type { Command } from './frame/command.js';

/** `triton image-client`: classifies pictures. `--tensors` as the first argument prints a picture's tensor instead. */
export const run: Command = async (args) => {
  if (args[0] === '--tensors') {
    const { pictureTensor } = await import('../image/write-tensor.js');
    const tensor = await pictureTensor(args.slice(1));
    await new Promise<void>((resolve, reject) =>
      process.stdout.write(tensor, (error) => (error ? reject(error) : resolve())),
    );
    return 0;
  }
  const { runImageClient } = await import('../image/run-image-client.js');
  return runImageClient(args, process.stdout, process.stderr);
};
