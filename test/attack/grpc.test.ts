/** A short form of `npm run attack`; two servers, because what one keeps of large messages adds up. */
import { attackBriefly } from './attack-briefly.js';
import { GRPC_ATTACKS } from './attacks/grpc.js';

const BOMBS = GRPC_ATTACKS.findIndex(({ name }) => name === 'grpc-announced');

attackBriefly('grpc messages', GRPC_ATTACKS.slice(0, BOMBS));
attackBriefly('grpc streams and queues', GRPC_ATTACKS.slice(BOMBS));
