import type { Command } from './frame/command.js';

/** `triton image-client`: classifies images. `--tensors` as the first argument prints a image's tensor instead. */
export const run: Command = async (args) => {
  if (args[0] === '--tensors') {
    const { imageTensor } = await import('../image/write-tensor.js');
    const tensor = await imageTensor(args.slice(1));
    await new Promise<void>((resolve, reject) =>
      process.stdout.write(tensor, (error) => (error ? reject(error) : resolve())),
    );
    return 0;
  }
  const { runImageClient } = await import('../image/run-image-client.js');
  return runImageClient(args, process.stdout, process.stderr);
};
