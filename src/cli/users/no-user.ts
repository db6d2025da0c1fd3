import { CommandError } from '../exit-codes.ts';

export function noUser(name: string): CommandError {
  return new CommandError('notFound', `no user ${name}; "millrace users list" shows addresses and numbers`);
}
