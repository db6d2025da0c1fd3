import { createServer, type Server, type Socket } from 'node:net';
import type { DamagedPart } from '../sql.ts';
import type { ProjectExpiry, RemovedRows } from '../expired-rows.ts';
import type { EraseRows, RunDays } from '../eventstore.ts';
import type { RunTableRef } from '../run-table-names.ts';
import type { RunTableChange } from '../run-tables.ts';
import { healthOf } from '../sql.ts';
import { encodeFrame, FrameReader } from '../../../base/frames.ts';
import { eraseRowsOf, fromWireExpiry, type StoreRequest, type StoreResponse, type WireParam } from './requests.ts';

/** The engine as used by the socket. */
export interface Engine {
  insert(file: string, rows: number, token: string, into?: RunTableRef): Promise<void>;
  deleteRun(rows: RunDays): Promise<void>;
  removeExpired(month: number, expiries: readonly ProjectExpiry[]): Promise<RemovedRows>;
  erase(rows: EraseRows): Promise<void>;
  /** Lets the engine remove replaced parts. */
  nudge(): Promise<void>;
  changeRunTable(change: RunTableChange): Promise<void>;
  /** JSON lines. */
  query(sql: string, params: Readonly<Record<string, WireParam>>): Promise<Buffer>;
  damagedParts(): Promise<DamagedPart[]>;
}

/** Serves every client of the socket; requests of one connection run concurrently. */
export function serveEngine(engine: Engine): Server {
  return createServer((socket) => {
    const reader = new FrameReader<StoreRequest>();
    socket.on('data', (chunk) => {
      try {
        for (const frame of reader.push(chunk)) void answer(engine, socket, frame.header);
      } catch {
        // Not our protocol: no response is possible.
        socket.destroy();
      }
    });
    // Responses of a client that disconnects are dropped; 'close' follows and frees the socket.
    socket.on('error', () => socket.destroy());
  });
}

async function answer(engine: Engine, socket: Socket, request: StoreRequest): Promise<void> {
  try {
    const body = await perform(engine, request);
    send(socket, { id: request.id, ok: true }, body);
  } catch (error) {
    const message = error instanceof Error ? error.message : String(error);
    send(socket, { id: request.id, ok: false, message });
  }
}

function send(socket: Socket, header: StoreResponse, body?: Buffer): void {
  if (socket.writable) socket.write(encodeFrame(header, body));
}

async function perform(engine: Engine, request: StoreRequest): Promise<Buffer | undefined> {
  switch (request.kind) {
    case 'insert':
      await engine.insert(request.file, request.rows, request.token, request.into);
      return undefined;
    case 'delete-run':
      await engine.deleteRun(request.rows);
      return undefined;
    case 'remove-expired': {
      const removed = await engine.removeExpired(request.month, request.expiries.map(fromWireExpiry));
      return Buffer.from(JSON.stringify(removed));
    }
    case 'erase':
      await engine.erase(eraseRowsOf(request.rows));
      return undefined;
    case 'nudge':
      await engine.nudge();
      return undefined;
    case 'change-run-table':
      await engine.changeRunTable(request.change);
      return undefined;
    case 'query':
      return await engine.query(request.sql, request.params);
    case 'health':
      return Buffer.from(JSON.stringify(healthOf(await engine.damagedParts())));
  }
}
