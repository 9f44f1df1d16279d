/** gRPC server reflection (grpc/grpc: doc/server-reflection.md), so that tools can list and call the methods. */
import { GrpcStatus } from '../../../protocol/error.js';
import { fromBinary, toBinary } from '../../../protocol/proto/codec.js';
import { FileDescriptor } from '../../../protocol/proto/descriptor.js';
import { create } from '../../../protocol/proto/schema.js';
import {
  ServerReflectionRequest,
  ServerReflectionResponse,
} from '../../../protocol/proto/service/reflection-messages.js';
import { serviceFiles } from '../../../protocol/proto/service/service-files.js';
import { cutText } from '../../../transport/cut-text.js';
import type { GrpcCall, GrpcMethod } from '../../../transport/grpc/grpc-api.js';
import { finishWithError, SHUTTING_DOWN } from '../message/respond.js';
import type { OnStop } from '../route/endpoint.js';

/** Paths of both versions of the service; tools try v1 first and fall back. */
export const REFLECTION_PATHS: readonly string[] = [
  '/grpc.reflection.v1.ServerReflection/ServerReflectionInfo',
  '/grpc.reflection.v1alpha.ServerReflection/ServerReflectionInfo',
];

/**
 * Makes the method for one server; the descriptors are made when it is first called. A stop ends its streams at once: none of
 * them has anything in flight.
 */
export function serverReflection(_context: unknown, onStop: OnStop): GrpcMethod {
  const open = new Set<GrpcCall>();
  let known: Catalogue | undefined;
  onStop(() => {
    for (const call of open) call.finish(GrpcStatus.UNAVAILABLE, SHUTTING_DOWN);
    open.clear();
  });
  return {
    kind: 'stream',
    open(call) {
      open.add(call);
      call.onCancel(() => open.delete(call));
      return {
        onMessage(message) {
          try {
            known ??= makeCatalogue();
            const response = answer(known, fromBinary(ServerReflectionRequest, message));
            if (call.send(toBinary(ServerReflectionResponse, response))) return;
            // A response is a thousand times its request: a client that does not read is not read from.
            call.pause();
            call.onDrain(() => call.resume());
          } catch (reason) {
            open.delete(call);
            finishWithError(call, reason);
          }
        },
        onHalfClose() {
          open.delete(call);
          call.finish(GrpcStatus.OK);
        },
      };
    },
  };
}

interface Catalogue {
  readonly services: readonly string[];
  /** Files with everything they depend on, by file name and by full name of what they declare. */
  readonly files: ReadonlyMap<string, readonly Uint8Array[]>;
  readonly symbols: ReadonlyMap<string, readonly Uint8Array[]>;
}

function makeCatalogue(): Catalogue {
  const services: string[] = [];
  const files = new Map<string, readonly Uint8Array[]>();
  const symbols = new Map<string, readonly Uint8Array[]>();
  for (const file of serviceFiles()) {
    const whole = [toBinary(FileDescriptor, file), ...file.dependency.flatMap((name) => files.get(name) ?? [])];
    files.set(file.name, whole);
    const declare = (name: string) => symbols.set(name, whole);
    for (const { name, method } of file.service) {
      const service = `${file.package}.${name}`;
      services.push(service);
      declare(service);
      for (const call of method) declare(`${service}.${call.name}`);
    }
    declareTypes(file.package, file as unknown as DeclaredTypes, declare);
  }
  return { services, files, symbols };
}

interface DeclaredTypes {
  readonly message_type?: readonly (DeclaredTypes & { readonly name: string })[];
  readonly nested_type?: readonly (DeclaredTypes & { readonly name: string })[];
  readonly enum_type: readonly { readonly name: string }[];
}

function declareTypes(scope: string, types: DeclaredTypes, declare: (name: string) => void): void {
  for (const { name } of types.enum_type) declare(`${scope}.${name}`);
  for (const nested of types.message_type ?? types.nested_type ?? []) {
    declare(`${scope}.${nested.name}`);
    declareTypes(`${scope}.${nested.name}`, nested, declare);
  }
}

function answer(known: Catalogue, request: ServerReflectionRequest): ServerReflectionResponse {
  const response = create(ServerReflectionResponse);
  response.valid_host = request.host;
  response.original_request = request;
  const found = (files: readonly Uint8Array[] | undefined, what: string) => {
    if (files !== undefined) response.file_descriptor_response = { file_descriptor_proto: [...files] };
    else response.error_response = { error_code: GrpcStatus.NOT_FOUND, error_message: cutText(`${what} not found`) };
  };
  if (request.list_services !== undefined) {
    response.list_services_response = { service: known.services.map((name) => ({ name })) };
  } else if (request.file_by_filename !== undefined) {
    found(known.files.get(request.file_by_filename), `file '${request.file_by_filename}'`);
  } else if (request.file_containing_symbol !== undefined) {
    found(known.symbols.get(request.file_containing_symbol), `symbol '${request.file_containing_symbol}'`);
  } else if (request.all_extension_numbers_of_type !== undefined) {
    const base_type_name = request.all_extension_numbers_of_type;
    if (known.symbols.has(base_type_name)) {
      response.all_extension_numbers_response = { base_type_name, extension_number: [] };
    } else found(undefined, `type '${base_type_name}'`);
  } else if (request.file_containing_extension !== undefined) {
    found(undefined, `extension of '${request.file_containing_extension.containing_type}'`);
  } else {
    response.error_response = {
      error_code: GrpcStatus.INVALID_ARGUMENT,
      error_message: 'the request asks for nothing',
    };
  }
  return response;
}
