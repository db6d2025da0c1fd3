import { Type, type TSchema } from 'typebox';

export function orNull<S extends TSchema>(schema: S, description?: string) {
  return Type.Union([schema, Type.Null()], description === undefined ? {} : { description });
}
