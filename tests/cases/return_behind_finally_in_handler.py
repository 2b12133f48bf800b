def isEnabledFor(self, level):
    if self.disabled:
        return False
    try:
        return self._cache[level]
    except KeyError:
        acquire()
        try:
            if self.manager.disable >= level:
                is_enabled = self._cache[level] = False
            else:
                is_enabled = self._cache[level] = level >= self.getEffectiveLevel()
        finally:
            release()
        return is_enabled
