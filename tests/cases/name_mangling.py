class Private:
    __field = 1

    def __method(self, __param):
        self.__attr = __param
        return self.__method(self.__field)

    def __dunder__(self):
        return _Other__name
