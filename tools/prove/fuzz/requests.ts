import { createDraw } from '../../../test/support/draw.ts';
import * as api from './api-requests.ts';
import * as capture from './capture-requests.ts';
import type { FuzzRequest, RequestMaker, World } from './request.ts';
import * as wire from './wire-requests.ts';

/** How many of a thousand requests are of which kind. */
const shares: readonly (readonly [number, RequestMaker])[] = [
  [20, capture.goodEvent],
  [200, capture.oddEvents],
  [50, capture.segmentMessages],
  [130, capture.damagedBodies],
  [45, capture.hostileBodies],
  [5, capture.bombs],
  [80, capture.oddHeaders],
  [70, capture.v1Events],
  [110, api.asDocumented],
  [90, api.withUnusualValues],
  [60, api.withBrokenBody],
  [50, api.withoutAccess],
  [40, api.ofOtherPaths],
  [20, wire.cutOff],
  [15, wire.damagedWire],
  [15, wire.lyingHeads],
];

const table: readonly RequestMaker[] = shares.flatMap(([share, make]) => Array.from({ length: share }, () => make));

/** The request with this number: always the same for the same seed and service. */
export function requestAt(seed: number, number: number, world: World): FuzzRequest {
  const draw = createDraw(seed ^ Math.imul(number + 1, 0x9e3779b1));
  return draw.pick(table)(draw, world);
}
