import type { Part } from './check.ts';
import { clickhousePart } from './clickhouse-checks.ts';
import { clickhouseClusterPart } from './clickhouse-cluster-checks.ts';
import { kafkaPart } from './kafka-checks.ts';
import { machinePart } from './machine-checks.ts';
import { metadataPart } from './metadata-checks.ts';
import { postgresLogPart } from './postgres-log-checks.ts';
import { postgresPart } from './postgres-checks.ts';
import { servicePart } from './service-checks.ts';
import { settingsPart } from './settings-checks.ts';
import { storagePart } from './storage-checks.ts';

/**
 * All checks of `millrace doctor`, declared once: code, what is checked, severity, what to change. The command, docs/reference/doctor.md
 * and the tests follow from it. Codes are stable and never used for something else.
 */
export const doctorParts: readonly Part[] = [
  machinePart,
  settingsPart,
  metadataPart,
  postgresPart,
  postgresLogPart,
  clickhousePart,
  clickhouseClusterPart,
  kafkaPart,
  storagePart,
  servicePart,
];
