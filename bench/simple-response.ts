/** Data of one output of the model `simple`: sixteen INT32. */
export const SIMPLE_OUTPUT: Uint8Array = new Uint8Array(Int32Array.from({ length: 16 }, (_, i) => i + 1).buffer);

/** JSON part of a response of the model `simple` with two binary outputs. */
export const SIMPLE_HTTP_HEADER: string = JSON.stringify({
  model_name: 'simple',
  model_version: '1',
  outputs: ['OUTPUT0', 'OUTPUT1'].map((name) => ({
    name,
    datatype: 'INT32',
    shape: [1, 16],
    parameters: { binary_data_size: 64 },
  })),
});

/** ModelInferResponse of the model `simple`, in its length-prefixed gRPC form. */
export const SIMPLE_GRPC_MESSAGE: Uint8Array = frame(
  Buffer.concat([
    field(1, Buffer.from('simple')),
    field(2, Buffer.from('1')),
    ...['OUTPUT0', 'OUTPUT1'].map((name) =>
      field(
        5,
        Buffer.concat([field(1, Buffer.from(name)), field(2, Buffer.from('INT32')), field(3, Buffer.of(1, 16))]),
      ),
    ),
    field(6, SIMPLE_OUTPUT),
    field(6, SIMPLE_OUTPUT),
  ]),
);

/** One length-delimited protobuf field of less than 128 bytes. */
function field(number: number, payload: Uint8Array): Buffer {
  return Buffer.concat([Buffer.of((number << 3) | 2, payload.length), payload]);
}

function frame(message: Uint8Array): Buffer {
  const prefix = Buffer.alloc(5);
  prefix.writeUInt32BE(message.length, 1);
  return Buffer.concat([prefix, message]);
}
